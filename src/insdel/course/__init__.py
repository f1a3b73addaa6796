"""Exercises, the mistakes they know, grading, and notebooks made from them. Builds on the library and on `paper`."""
