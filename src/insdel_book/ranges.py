"""What a parameter may be, in words that a person reads and `parse` understands.

====================================  ====================================================================
`None`, `[]`                          nothing; an empty list
`2 to 5`, `at least 1`                whole numbers; with a point in the limits (`0.0 to 1.0`) any numbers
`above 0.0`, `between 0.0 and 1.0`    numbers without the limits themselves
`one of a, b`, `some of a, b`         a word; a list of words, each once (`the methods`: those of `NAMES`)
`each at least 0`                     a list, not empty, whose items are so
`any text`, `a column`, `a class`     text, which stays text
`columns`                             a list of texts
`true or false`
`a file`, `a new file`                a path; in a folder that exists
`a file like Bangalore.csv`           a path of a table with these columns
`an address`, `PACKAGE:NAME`          `tcp://host:port`; text of this form, capitals stand for any word
====================================  ====================================================================

` or ` joins several; what stands in parentheses is for people.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

LARGEST = 2**62  # of whole numbers, so that seeds with something added still fit into 64 bits

# Written out, because importing those who own them takes seconds; a test compares.
NAMES = {
    "methods": (
        "kernel_shap", "integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime", "random",
        "lime_tabular", "occlusion", "two_sided", "gradient_shap", "shapley_sampling", "banzhaf", "ig_interpolated",
        "ig_jump", "greedy", "best", "expected",
    ),
    "recipes": (
        "chosen", "constant rate, no clipping, last epoch", "constant rate, no clipping", "last epoch",
        "half the batch", "twice the batch", "AdamW, decay 0.1",
        "output in units of the target, δ in units of the target",
        "output in units of the deviation, δ in units of the target",
        "output in units of the deviation, δ in units of the deviation",
    ),
    "exercises": (
        "hybrid", "curve", "feature_order", "aul", "abc", "alone", "additive_abc", "dividend", "predictions",
        "last_place", "auc_by_parts", "shapley", "shapley_by_orders", "expected_last", "expected_abc", "abc_both",
        "missed_by_shapley", "comparisons", "order_of_score", "integrated_gradients", "ig_of_score",
        "input_x_gradient", "lime_effects", "jump_credit", "interpolated", "invariant_mass", "counterfactual",
        "standard_error", "paired_difference", "blank_pixels", "fill_values", "remove_features",
    ),
}  # fmt: skip


class Mismatch(ValueError):
    """A value lies outside a range; the text is a reason that the range itself does not give."""


class Range(Protocol):
    """What a parameter may be."""

    def fit(self, value: Any) -> Any:
        """Return the value in the type that is needed, or raise Mismatch."""

    def samples(self) -> list[Any]:
        """Values for a test: the ends, and an odd one."""


@dataclass(frozen=True)
class Exactly:
    """One value, such as None or []."""

    value: Any

    def fit(self, value: Any) -> Any:
        """None, [] or how a person types it."""
        if (isinstance(value, str) and value == str(self.value)) or (value == self.value and value is not False):
            return self.value
        raise Mismatch

    def samples(self) -> list[Any]:
        """The value."""
        return [self.value]


@dataclass(frozen=True)
class Number:
    """A number between two limits; `whole` is decided by how the limits are written."""

    low: float
    high: float
    whole: bool
    inside: bool = False  # the limits themselves do not count

    def fit(self, value: Any) -> int | float:
        """The number, from text too; 1e3 is a whole number."""
        try:
            number = float(value) if not isinstance(value, bool | list | dict) else math.nan
        except (TypeError, ValueError):
            raise Mismatch(f"not a {'whole ' if self.whole else ''}number") from None
        if not math.isfinite(number) or (self.whole and not number.is_integer()):
            raise Mismatch(f"not a {'whole ' if self.whole else ''}number")
        if self.whole and number > LARGEST:
            raise Mismatch(f"too large: at most {LARGEST}")
        if number < self.low or number > self.high or (self.inside and number in (self.low, self.high)):
            raise Mismatch
        exact = re.fullmatch(r"[+-]?\d+", str(value).strip())  # floats lose digits of large seeds
        return (int(value) if exact else int(number)) if self.whole else number

    def samples(self) -> list[Any]:
        """Both ends, or just inside them, and an odd value."""
        if self.whole:
            odd = [self.low + 2] if math.isinf(self.high) or self.high > self.low + 2 else []
            ends = [end for end in (self.low, self.high) if not math.isinf(end)]
            return [int(value) for value in dict.fromkeys([*ends, *odd])]
        width = min(self.high, self.low + 3.7) - self.low
        ends = [self.low + 0.001 * width, self.high - 0.001 * width] if self.inside else [self.low, self.high]
        return [*(end for end in ends if not math.isinf(end)), self.low + 0.37 * width]


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    def fit(self, value: Any) -> str:
        """The word."""
        if not isinstance(value, str) or value not in self.words:
            raise Mismatch
        return value

    def samples(self) -> list[Any]:
        """Every word."""
        return list(self.words)


@dataclass(frozen=True)
class Selection:
    """A list of words, each once, one at least."""

    words: tuple[str, ...]

    def fit(self, value: Any) -> list[str]:
        """The words; `a,b,c` from a command line."""
        items = split_list(value)
        wrong = [item for item in items if item not in self.words]
        if wrong:
            raise Mismatch(f"{wrong[0]!r} is none of {', '.join(self.words)}")
        if not items or len(set(items)) < len(items):
            raise Mismatch("none at all" if not items else "each once")
        return items

    def samples(self) -> list[Any]:
        """The first alone, the last alone, all, all backwards."""
        return [[self.words[0]], [self.words[-1]], list(self.words), list(self.words[::-1][:2])]


@dataclass(frozen=True)
class Each:
    """A list, not empty, whose items lie in a range."""

    item: Range

    def fit(self, value: Any) -> list[Any]:
        """The items; `1,2,3` from a command line."""
        items = split_list(value)
        if not items:
            raise Mismatch("none at all")
        return [self.item.fit(item) for item in items]

    def samples(self) -> list[Any]:
        """Each end of the items alone, and a list of two."""
        items = self.item.samples()
        return [*([item] for item in items), [items[-1], items[0]]]


@dataclass(frozen=True)
class Text:
    """Text that stays text; `items` for a list of texts."""

    items: bool = False
    form: str = ".*"

    def fit(self, value: Any) -> Any:
        """The text."""
        if self.items:
            items = split_list(value)
            if all(isinstance(item, str) for item in items):
                return items
        elif isinstance(value, str) and re.fullmatch(self.form, value, re.DOTALL):
            return value
        raise Mismatch if isinstance(value, str) else Mismatch("not text; with papermill, -r passes text as it is")

    def samples(self) -> list[Any]:
        """No text can be made up that a chapter knows."""
        return []


@dataclass(frozen=True)
class File:
    """A path, meant from the current folder; `like` names the known table whose columns it must have."""

    like: str = ""
    new: bool = False
    ending: str = ""

    def fit(self, value: Any) -> str:
        """The whole path."""
        if not isinstance(value, str | Path) or not str(value).endswith(self.ending):
            raise Mismatch
        path = Path(value).expanduser().absolute()
        if self.new and not path.parent.is_dir():
            raise Mismatch(f"there is no folder {path.parent}")
        if not self.new and not (path.is_file() or (self.like and path.is_dir())):
            raise Mismatch(f"there is no file {path}")
        return str(path)

    def samples(self) -> list[Any]:
        """A test has to bring files of its own."""
        return []


@dataclass(frozen=True)
class Model:
    """file.py:name, the file meant from the current folder."""

    def fit(self, value: Any) -> str:
        """The whole path of the file, and the name."""
        file, colon, name = str(value).rpartition(".py:")
        if not colon or not name.isidentifier():
            raise Mismatch
        path = Path(f"{file}.py").expanduser().absolute()
        if not path.is_file():
            raise Mismatch(f"there is no file {path}")
        return f"{path}:{name}"

    def samples(self) -> list[Any]:
        """A test has to bring files of its own."""
        return []


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def fit(self, value: Any) -> bool:
        """The truth value."""
        known = {"true": True, "false": False}
        if isinstance(value, bool) or str(value).lower() in known:
            return known[str(value).lower()]
        raise Mismatch

    def samples(self) -> list[Any]:
        """Both."""
        return [True, False]


@dataclass(frozen=True)
class Either:
    """Any of several ranges."""

    parts: tuple[Range, ...]

    def fit(self, value: Any) -> Any:
        """By the first range that it fits; else the longest reason why not."""
        reasons = []
        for part in self.parts:
            try:
                return part.fit(value)
            except Mismatch as problem:
                reasons.append(str(problem))
        raise Mismatch(max(reasons, key=len))

    def samples(self) -> list[Any]:
        """Those of all parts."""
        return [value for part in self.parts for value in part.samples()]


def split_list(value: Any) -> list[Any]:
    """A list, or what text means: a JSON list, or texts between commas (quote one that has a comma)."""
    if isinstance(value, list | tuple):
        return list(value)
    if not isinstance(value, str):
        raise Mismatch("not a list")
    if value.lstrip().startswith("["):
        try:
            return list(json.loads(value))
        except ValueError:
            value = value.strip().removeprefix("[").removesuffix("]")
    return [item.strip() for row in csv.reader([value], skipinitialspace=True) for item in row if item.strip()]


def _numbers(match: re.Match[str]) -> Range:
    """`2 to 5`, `at least 1`, `above 0.0`, `between 0.0 and 1.0`."""
    limits = [text for text in match.groups() if text]
    low, high = float(limits[0]), float(limits[1]) if len(limits) > 1 else math.inf
    return Number(low, high, "." not in "".join(limits), match[0].startswith(("above", "between")))


def _words(text: str) -> tuple[str, ...]:
    """The words of `a, b, c`, or those that `the methods` stands for."""
    if text.startswith("the "):
        if text[4:] not in NAMES:
            raise ValueError(f"{text!r} stands for no known names; known are {', '.join(NAMES)}")
        return NAMES[text[4:]]
    return tuple(word.strip() for word in text.split(","))


NUMBER = r"(-?\d+(?:\.\d+)?)"
FORMS: dict[str, Callable[[re.Match[str]], Range]] = {
    "None": lambda _: Exactly(None),
    r"\[\]": lambda _: Exactly([]),
    rf"{NUMBER} to {NUMBER}|at least {NUMBER}|above {NUMBER}|between {NUMBER} and {NUMBER}": _numbers,
    "one of (.+)": lambda match: Choice(_words(match[1])),
    "some of (.+)": lambda match: Selection(_words(match[1])),
    "each (.+)": lambda match: Each(parse(match[1])),
    "any text|a column|a class": lambda _: Text(),
    "columns": lambda _: Text(items=True),
    "true or false": lambda _: Flag(),
    "a file": lambda _: File(),
    "a new file": lambda _: File(new=True),
    r"a file like (\S+)": lambda match: File(like=match[1]),
    r"a (\.\w+) file": lambda match: File(ending=match[1]),
    r"file\.py:name": lambda _: Model(),
    "an address": lambda _: Text(form=r"\w+://[\w.-]+:\d+"),
    r"([\w.]+):[A-Z]+": lambda match: Text(form=rf"{match[1]}:[\w.-]+"),
    "module:name": lambda _: Text(form=r"(?!.*\.py:)\w+(\.\w+)*:\w+"),
}


def parse(text: str) -> Range:
    """Return the range that a text describes.

    Raises
    ------
    ValueError : the text has none of the known forms
    """
    plain = re.sub(r"\s*\([^)]*\)", "", text).strip()
    parts = [plain] if plain == "true or false" else plain.split(" or ")
    result = [_form(part.strip()) for part in parts]
    return result[0] if len(result) == 1 else Either(tuple(result))


def _form(text: str) -> Range:
    for form, make in FORMS.items():
        match = re.fullmatch(form, text)
        if match:
            return make(match)
    raise ValueError(f"{text!r} is no range, such as 2 to 5, at least 1, one of a, b, None or a file")
