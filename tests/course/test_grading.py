"""The judge says what is wrong with an answer, in words, and never by a traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from course.exercises.grading import WIDTH, Task, WrongAnswer, judge, show

CASES = [(np.array([1.0, 2.0, 4.0]), 2.0), (np.array([-3.0, 5.0]), 0.5), (np.array([0.0, 7.0, 1.0, 1.0]), -1.0)]
TASK = Task(
    "scale",
    ["x", "factor"],
    lambda x, factor: x * factor,
    CASES,
    {
        "you divided instead of multiplying.": lambda x, factor: x / factor,
        "you forgot the last number.": lambda x, factor: x[:-1] * factor,
    },
)


def verdict(answer: Any, task: Task = TASK) -> str:
    found = judge(task, answer)
    assert not found and not found.passed and str(found) == found.text
    return found.text


def words_of(answer: Any) -> str:
    return " ".join(verdict(answer).split())


def in_place(x: np.ndarray, factor: float) -> np.ndarray:
    x *= factor
    return x


def stub(x: np.ndarray, factor: float) -> np.ndarray:
    # YOUR CODE HERE
    raise NotImplementedError()


def clumsy(x: np.ndarray, factor: float) -> np.ndarray:
    return x[10] * factor


def test_a_right_answer_passes_as_array_list_or_up_to_rounding() -> None:
    assert judge(TASK, lambda x, factor: x * factor)
    assert judge(TASK, lambda x, factor: [float(value) * factor for value in x])
    assert judge(TASK, lambda x, factor: x * factor * (1 + 1e-9))
    assert "in all 3 cases" in judge(TASK, lambda x, factor: factor * x).text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (stub, "there is no answer yet"),
        (lambda x, factor: None, "returned None"),
        (7.0, "a function is needed; found 7"),
        (lambda x: x, "stopped with TypeError"),
        (clumsy, "stopped with IndexError: index 10 is out of bounds"),
        (clumsy, "in the line return x[10] * factor"),
        (in_place, "changed its argument `x`. Work on a copy"),
        (lambda x, factor: "six", "numbers are needed, alone or in an array; found str: 'six'"),
        (lambda x, factor: [[1.0], [1.0, 2.0]], "numbers are needed"),
        (lambda x, factor: {1.0, 2.0}, "found set"),
        (lambda x, factor: x * factor * (1 + 1e-4), "times what it should be"),
    ],
)
def test_what_gives_no_numbers_is_told_why(answer: Any, words: str) -> None:
    text = words_of(answer)
    assert words in text and text.startswith("scale, not yet:") and "Traceback" not in text


@pytest.mark.parametrize("message", TASK.mistakes)
def test_known_mistakes_are_named_and_shown_in_a_case(message: str) -> None:
    text = verdict(TASK.mistakes[message])
    assert message in text
    assert "in the case  scale(x=[1, 2, 4], factor=2)" in text and "needed       [2, 4, 8]" in text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x, factor: -x * factor, "every number has the opposite sign"),
        (lambda x, factor: 3 * x * factor, "every number is 3 times what it should be"),
        (lambda x, factor: x * factor - 2, "every number is off by -2"),
        (lambda x, factor: (x * factor)[::-1], "the right numbers, in the opposite order"),
        (lambda x, factor: (x * factor).sum(), "the result needs shape (3,); yours has a single number"),
        (lambda x, factor: np.where(x == 5, 0, x * factor), "1 of 3 cases differ"),
        (lambda x, factor: x * np.nan, "not finite (nan or inf)"),
    ],
)
def test_other_mistakes_are_described_by_their_pattern(answer: Callable[..., Any], words: str) -> None:
    assert words in words_of(answer)


def test_the_case_that_is_shown_is_one_that_differs() -> None:
    text = verdict(lambda x, factor: np.where(x == 5, 0, x * factor))
    assert "needed       [-1.5, 2.5]" in text and "found        [-1.5, 0]" in text


def test_long_lines_are_folded_under_their_column() -> None:
    text = verdict(lambda x, factor: [1.0 / 3 + k for k in range(14)])
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH and "  found        [0.333333, 1.33333, " in text
    assert lines[-1].startswith(" " * 15 + "1")


def test_of_a_large_array_the_first_difference_is_shown() -> None:
    task = Task("fill", ["x"], lambda x: x, [(np.arange(40.0).reshape(5, 8),)], {})
    text = verdict(lambda x: np.where(x == 19, -1, x), task)
    assert "needed       19 at [2, 3]" in text and "found        -1 at [2, 3]" in text
    assert "x=array of shape (5, 8)" in text


def test_arguments_are_whole_in_every_case() -> None:
    """An answer that spoils its input spoils neither the cases nor the truth."""
    before = [np.array(x) for x, _ in CASES]
    verdict(in_place)
    assert all(np.array_equal(x, old) for (x, _), old in zip(CASES, before, strict=True))
    assert judge(TASK, TASK.truth)


def test_ipython_shows_the_text_and_no_traceback() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell, shown = InteractiveShell(), []
    shell._showtraceback = lambda etype, value, lines: shown.extend(lines)
    shell.user_ns["problem"] = WrongAnswer("scale, not yet: no.\n  needed  1")
    shell.run_cell("raise problem")
    assert shown == ["scale, not yet: no.", "  needed  1"]


@pytest.mark.parametrize(
    ("value", "text"),
    [pytest.param(clumsy, "clumsy", id="function"), ("insertion", "'insertion'"), (np.pi, "3.14159"), ([], "[]"), (np.eye(2), "[[1, 0], [0, 1]]"),
     (True, "True"), (np.zeros((3, 9)), "array of shape (3, 9)")],
    ids=str,
)  # fmt: skip
def test_values_are_shown_on_one_line(value: Any, text: str) -> None:
    assert show(value) == text
