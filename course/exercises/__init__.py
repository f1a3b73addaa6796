"""Exercises over the book, each with a solution, a check, and the mistakes that the check recognises.

>>> from insdel_book.course import load_course
>>> exercises = load_course("exercises")
>>> exercises.check("curve", my_curve)
"""

from __future__ import annotations

from copy import deepcopy
from difflib import get_close_matches
from typing import Any

from matplotlib.figure import Figure

from course.exercises import gradients, measure, orders, parts, walk
from course.exercises.base import CHAPTERS, REGISTERED, Exercise
from course.exercises.grading import Verdict, WrongAnswer, judge
from insdel.errors import UserError

TOPICS = {
    "walk": "Walks, orders, areas",
    "parts": "Parts of a prediction",
    "orders": "All orders at once",
    "gradients": "Gradients, paths and lines",
    "measure": "Experiments",
}
EXERCISES = {one.name: one for topic in TOPICS for one in REGISTERED.values() if one.topic == topic}

__all__ = [
    "CHAPTERS",
    "EXERCISES",
    "TOPICS",
    "Exercise",
    "check",
    "draw",
    "example",
    "feedback",
    "find",
    "gradients",
    "measure",
    "orders",
    "parts",
    "walk",
]  # fmt: skip


def find(name: str) -> Exercise:
    """Return the exercise that asks for the function of that name."""
    if name not in EXERCISES:
        near = get_close_matches(name, EXERCISES, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise UserError(f"there is no exercise {name!r}.{guess} The exercises are: {', '.join(EXERCISES)}.")
    return EXERCISES[name]


def example(name: str) -> tuple[Any, ...]:
    """Return the arguments of the case that the exercise shows: try yours with `curve(*example("curve"))`."""
    return deepcopy(find(name).task.cases[0])


def feedback(name: str, answer: Any) -> Verdict:
    """Judge an answer to an exercise; print the result to read what is wrong."""
    return judge(find(name).task, answer)


def check(name: str, answer: Any) -> None:
    """Print that an answer is right, or raise WrongAnswer with what is wrong (and nbgrader gives no points)."""
    verdict = feedback(name, answer)
    if not verdict:
        raise WrongAnswer(verdict.text)
    print(verdict.text)


def draw(name: str, answer: Any) -> Figure:
    """Draw an answer, once it is right, the way the expected figure was drawn."""
    exercise = find(name)
    if exercise.figure is None:
        raise UserError(f"the exercise {name!r} has no figure.")
    verdict = feedback(name, answer)
    if not verdict:
        raise WrongAnswer(verdict.text)
    return exercise.figure(answer)
