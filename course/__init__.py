"""The course: solved exercises with their checks, and the notebooks that are made from them."""
