"""Exercises, the mistakes they know, grading, and notebooks made from them. Builds on `insdel` and `insdel_paper`."""
