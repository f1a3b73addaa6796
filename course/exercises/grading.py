"""Judge an answer: run it on cases, compare it with the truth, and say in words what is wrong.

A typical mistake is known by what it computes: an answer that agrees with a known wrong function in
every case is told the name of that mistake, however it was written.
"""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

Answer = Callable[..., Any]
LARGEST = 16  # numbers that a message shows; of larger arrays it gives the shape
WIDTH = 72  # characters of a line of a message
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"  # what nbgrader puts in place of a solution


@dataclass(frozen=True)
class Task:
    """What an answer is measured by.

    name : of the function that is asked for
    parameters : names of its arguments
    truth : computes what the answer should return, in another way than the solution
    cases : argument tuples on which both are run
    mistakes : {what was done wrong: a function that does it}
    """

    name: str
    parameters: Sequence[str]
    truth: Answer
    cases: Sequence[tuple[Any, ...]]
    mistakes: Mapping[str, Answer]


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and the text that says so or says what is wrong."""

    passed: bool
    text: str

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text


class WrongAnswer(Exception):
    """An answer that is not right yet; notebooks show its text instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in place of a traceback."""
        return str(self).splitlines()


def judge(task: Task, answer: Any) -> Verdict:
    """Run an answer on all cases of a task and say whether it is right, or what is wrong."""
    try:
        result = [run(task, answer, case) for case in task.cases]
    except WrongAnswer as problem:
        return Verdict(False, fold(f"{task.name}, not yet: {problem}"))
    needed = [task.truth(*deepcopy(case)) for case in task.cases]
    wrong = [k for k, (got, need) in enumerate(zip(result, needed, strict=True)) if not same(got, need)]
    if not wrong:
        return Verdict(True, f"{task.name}: right, in all {len(needed)} cases.")
    reason = known_mistake(task, result) or pattern(result, needed) or f"{len(wrong)} of {len(needed)} cases differ."
    first = wrong[0]
    lines = [f"{task.name}, not yet: {reason}", f"  in the case  {call_text(task, task.cases[first])}"]
    need, got, where = first_difference(needed[first], result[first])
    lines += [f"  needed       {need}{where}", f"  found        {got}{where}"]
    return Verdict(False, fold("\n".join(lines)))


def run(task: Task, answer: Any, case: tuple[Any, ...]) -> np.ndarray:
    """Return what the answer gives for one case, as numbers; raise WrongAnswer if it gives none."""
    if not callable(answer):
        raise WrongAnswer(f"a function is needed; found {show(answer)}. Pass `{task.name}` itself, without calling it.")
    given = deepcopy(case)
    try:
        result = answer(*given)
    except NotImplementedError:
        raise WrongAnswer("there is no answer yet. Write yours in place of `raise NotImplementedError()`.") from None
    except Exception as error:
        where = _line(answer, error)
        raise WrongAnswer(
            f"your function stopped with {type(error).__name__}: {error}{where}\n  in the case  {call_text(task, case)}"
        ) from None
    for name, before, after in zip(task.parameters, case, given, strict=True):
        if not _unchanged(before, after):
            raise WrongAnswer(f"your function changed its argument `{name}`. Work on a copy: `{name}.copy()`.")
    return numbers(result)


def numbers(result: Any) -> np.ndarray:
    """Return an answer's result as an array of numbers, or say why that is impossible."""
    if result is None:
        raise WrongAnswer("your function returned None. Does every way through it end with `return`?")
    try:
        values = np.asarray(result)
    except ValueError:
        values = np.asarray(None)
    if values.dtype.kind not in "biuf":
        raise WrongAnswer(f"numbers are needed, alone or in an array; found {type(result).__name__}: {show(result)}.")
    return values


def same(found: Any, needed: Any) -> bool:
    """Whether two results have the same shape and the same numbers, up to rounding."""
    found, needed = np.asarray(found), np.asarray(needed)
    return found.shape == needed.shape and np.allclose(found.astype(float), needed.astype(float), 1e-6, 1e-9)


def known_mistake(task: Task, found: Sequence[np.ndarray]) -> str | None:
    """Return the mistake that gives just what was found, in every case."""
    for message, wrong in task.mistakes.items():
        outputs = (wrong(*deepcopy(case)) for case in task.cases)
        if all(same(got, output) for got, output in zip(found, outputs, strict=True)):
            return message
    return None


def pattern(found: Sequence[Any], needed: Sequence[Any]) -> str | None:
    """Say how all cases together differ: in shape, sign, order, by a factor or by a constant."""
    for got, need in zip(found, needed, strict=True):
        if np.shape(got) != np.shape(need):
            return f"the result needs {_shape_text(np.shape(need))}; yours has {_shape_text(np.shape(got))}."
    got, need = (np.concatenate([np.ravel(part) for part in parts]).astype(float) for parts in (found, needed))
    if not np.isfinite(got).all():
        return "there are numbers that are not finite (nan or inf)."
    if same(got, -need):
        return "every number has the opposite sign."
    if all(same(np.asarray(a)[::-1], b) if np.ndim(a) else same(a, b) for a, b in zip(found, needed, strict=True)):
        return "the right numbers, in the opposite order."
    factor, shift = _factor(got, need), np.unique(np.round(got - need, 9))
    if factor is not None:
        return f"every number is {factor:.4g} times what it should be."
    return f"every number is off by {shift[0]:+.4g}." if len(shift) == 1 else None


def fold(text: str) -> str:
    """Break long lines between words, so that they fit a page; what follows stands under the value's column."""
    folded = []
    for line in text.splitlines():
        indent = " " * (15 if line.startswith("  ") else 2)
        options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False, "drop_whitespace": True}
        folded += textwrap.wrap(line, WIDTH, subsequent_indent=indent, **options) or [line]
    return "\n".join(folded)


def _factor(got: np.ndarray, need: np.ndarray) -> float | None:
    """Return c if got = c · need with one c ≠ 0 for all, and more than one number to tell by."""
    square = float(need @ need)
    factor = float(got @ need) / square if square else 0.0
    return factor if factor and np.count_nonzero(need) > 1 and same(got, factor * need) else None


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"shape {shape}" if shape else "a single number"


def _unchanged(before: Any, after: Any) -> bool:
    """Whether an argument still holds what it held; functions cannot be compared and count as unchanged."""
    if callable(before):
        return True
    return np.array_equal(np.asarray(before), np.asarray(after))


def _line(answer: Answer, error: Exception) -> str:
    """Return the line of the answer's own code in which the error arose."""
    code = getattr(answer, "__code__", None)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if code and f.filename == code.co_filename]
    return f"\n  in the line  {frames[-1].line}" if frames and frames[-1].line else ""


def first_difference(needed: Any, found: Any) -> tuple[str, str, str]:
    """Return both results as text; of large ones the first number that differs, and where it stands."""
    needed, found = np.asarray(needed), np.asarray(found)
    if needed.shape != found.shape or needed.size <= LARGEST:
        return show(needed), show(found), ""
    place = tuple(int(k) for k in np.argwhere(~np.isclose(found, needed, 1e-6, 1e-9))[0])
    return show(needed[place]), show(found[place]), f" at [{', '.join(map(str, place))}]"


def call_text(task: Task, case: tuple[Any, ...]) -> str:
    """Return a case as a call, such as `order(attributions=[1, 3, 2], mode="deletion")`."""
    given = (f"{name}={show(value)}" for name, value in zip(task.parameters, case, strict=True))
    return f"{task.name}({', '.join(given)})"


def show(value: Any) -> str:
    """Return a value in few characters, on one line: arrays cut short, functions by their name."""
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, str):
        return repr(value)
    try:
        array = np.asarray(value)
    except ValueError:
        return repr(value)[:80]
    if array.dtype.kind not in "biuf":
        return repr(value)[:80]
    if array.size > LARGEST:
        return f"array of shape {array.shape}"
    style: Any = {"float_kind": lambda number: f"{number + 0.0:.6g}"}  # no −0
    return " ".join(np.array2string(array, separator=", ", formatter=style).split())
