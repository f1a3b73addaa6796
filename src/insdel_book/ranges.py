"""What a parameter may be, in words that a person reads and `parse` turns into a pydantic type.

====================================  ====================================================================
`None`, `[]`                          nothing; an empty list
`2 to 5`, `at least 1`                whole numbers; with a point in the limits (`0.0 to 1.0`) any numbers
`above 0.0`, `between 0.0 and 1.0`    numbers without the limits themselves
`one of a, b`, `some of a, b`         a word; a list of words, each once (`the methods`: all of `NAMES`)
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
from typing import Annotated, Any, Union

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import AfterValidator, AllowInfNan, BeforeValidator, Field, Strict, TypeAdapter, ValidationError

LARGEST = 2**62  # of whole numbers, so that seeds with something added still fit into 64 bits
Samples = Callable[[], list[Any]]


def _methods() -> tuple[str, ...]:
    from insdel import METHODS
    from insdel.stats import REFERENCES

    return (*METHODS, *REFERENCES)


def _recipes() -> tuple[str, ...]:
    from insdel.own.mlp import RECIPES
    from insdel_paper.networks.search import recipe_variants

    return tuple(dict.fromkeys(recipe for name in RECIPES for recipe in recipe_variants(name)))


def _exercises() -> tuple[str, ...]:
    from insdel_book.course import load_course

    return tuple(load_course("exercises").EXERCISES)


# looked up when a value is checked: importing those who own the names takes seconds
NAMES: dict[str, Callable[[], tuple[str, ...]]] = {"methods": _methods, "recipes": _recipes, "exercises": _exercises}


class Mismatch(ValueError):
    """A value lies outside a range; the text is a reason that the range itself does not give."""


@dataclass(frozen=True)
class Range:
    """What a parameter may be.

    kind : a type, as pydantic takes it
    samples : makes values for a test, the ends and an odd one; of texts and files none can be made up
    like : file name of the known table whose columns a file must have
    """

    kind: Any
    samples: Samples = list
    like: str = ""

    def fit(self, value: Any) -> Any:
        """Return the value in the type that is needed (text comes from a command line), or raise Mismatch."""
        try:
            return TypeAdapter(self.kind).validate_python(value)
        except ValidationError as error:
            raise Mismatch(max(map(_reason, error.errors()), key=len)) from None


def _reason(error: Any) -> str:
    """Why pydantic refused a value; empty if the limits say it already."""
    context, kind = error.get("ctx", {}), error["type"]
    if "error" in context:  # of our own validators
        return str(context["error"])
    if kind == "int_parsing_size" or context.get("le") == LARGEST:
        return f"too large: at most {LARGEST}"
    if kind.startswith(("int", "float", "finite")):
        return "not a whole number" if kind.startswith("int") else "not a number"
    return {"list_type": "not a list", "too_short": "none at all"}.get(kind, "")


def _number(value: Any) -> Any:
    """True is no number; 1e3 is a whole one; an integer keeps all its digits."""
    if isinstance(value, bool):
        raise ValueError("not a number")
    is_power = isinstance(value, str) and re.fullmatch(r"\s*[+-]?[\d.]+e\+?\d+\s*", value)
    return int(float(value)) if is_power and float(value).is_integer() else value


def _numbers(match: re.Match[str]) -> Range:
    """`2 to 5`, `at least 1`, `above 0.0`, `between 0.0 and 1.0`."""
    limits = [text for text in match.groups() if text]
    low, high = float(limits[0]), float(limits[1]) if len(limits) > 1 else math.inf
    if "." not in "".join(limits):
        top = LARGEST if math.isinf(high) else int(high)
        odd = [low + 2] if high > low + 2 else []
        ends = [low] if math.isinf(high) else [low, high]
        values = [int(value) for value in dict.fromkeys([*ends, *odd])]
        return Range(Annotated[int, BeforeValidator(_number), Ge(int(low)), Le(top)], lambda: list(values))
    inside = match[0].startswith(("above", "between"))
    width = min(high, low + 3.7) - low
    margin = 0.001 * width if inside else 0.0
    samples = [low + margin, *([] if math.isinf(high) else [high - margin]), low + 0.37 * width]
    limit = (Gt(low), Lt(high)) if inside else (Ge(low), Le(high))
    return Range(Annotated[float, BeforeValidator(_number), AllowInfNan(False), *limit], lambda: list(samples))


def _words(text: str) -> Callable[[], tuple[str, ...]]:
    """The words of `a, b, c`, or those that `the methods` stands for."""
    if not text.startswith("the "):
        return lambda: tuple(word.strip() for word in text.split(","))
    if text[4:] not in NAMES:
        raise ValueError(f"{text!r} stands for no known names; known are {', '.join(NAMES)}")
    return NAMES[text[4:]]


def _word(text: str) -> Any:
    """The type of one of some words."""
    words = _words(text)

    def known(value: str) -> str:
        if value not in words():
            raise ValueError(f"{value!r} is none of {', '.join(words())}")
        return value

    return Annotated[str, Strict(), AfterValidator(known)]


def _selection(match: re.Match[str]) -> Range:
    """`some of a, b`: a list of words, each once, one at least."""

    def once(items: list[str]) -> list[str]:
        if len(set(items)) < len(items):
            raise ValueError("each once")
        return items

    def samples() -> list[Any]:
        words = _words(match[1])()
        return [[words[0]], [words[-1]], list(words), list(words[::-1][:2])]

    word = _word(match[1])
    return Range(Annotated[list[word], LIST, MinLen(1), AfterValidator(once)], samples)  # type: ignore[valid-type]


def _each(match: re.Match[str]) -> Range:
    """`each at least 0`: a list, not empty."""
    item = parse(match[1])

    def samples() -> list[Any]:
        values = item.samples()
        return [*([value] for value in values), [values[-1], values[0]]]

    return Range(Annotated[list[item.kind], LIST, MinLen(1)], samples)  # type: ignore[name-defined]


def _exactly(value: Any) -> Range:
    """`None` or `[]`, also as a person types it."""

    def same(found: Any) -> Any:
        if found is False or found not in (value, str(value)):
            raise ValueError
        return value

    return Range(Annotated[Any, BeforeValidator(same)], lambda: [value])


def _text(form: str = ".*") -> Range:
    """Text that stays text and has a form."""

    def shaped(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("not text; with papermill, -r passes text as it is")
        if not re.fullmatch(form, value, re.DOTALL):
            raise ValueError
        return value

    return Range(Annotated[Any, BeforeValidator(shaped)])


def _path(like: str = "", new: bool = False, ending: str = "", name: str = "") -> Range:
    """A path, meant from the current folder; `name` is a form of what may stand behind it after a colon."""

    def found(value: Any) -> str:
        file, _, inside = str(value).rpartition(":") if name else (str(value), "", "")
        path = Path(file).expanduser().absolute()
        if not isinstance(value, str | Path) or not file.endswith(ending) or not re.fullmatch(name, inside):
            raise ValueError
        if new and not path.parent.is_dir():
            raise ValueError(f"there is no folder {path.parent}")
        if not new and not (path.is_file() or (like and path.is_dir())):
            raise ValueError(f"there is no file {path}")
        return f"{path}:{inside}" if name else str(path)

    return Range(Annotated[Any, BeforeValidator(found)], like=like)


def split_list(value: Any) -> Any:
    """A list, or what text means: a JSON list, or texts between commas (quote one that has a comma)."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return list(json.loads(value))
        except ValueError:
            value = value.strip().removeprefix("[").removesuffix("]")
    return [item.strip() for row in csv.reader([value], skipinitialspace=True) for item in row if item.strip()]


LIST = BeforeValidator(split_list)
FLAG = BeforeValidator(lambda value: {"true": True, "false": False}.get(str(value).lower(), value))
NUMBER = r"(-?\d+(?:\.\d+)?)"
FORMS: dict[str, Callable[[re.Match[str]], Range]] = {
    "None": lambda _: _exactly(None),
    r"\[\]": lambda _: _exactly([]),
    rf"{NUMBER} to {NUMBER}|at least {NUMBER}|above {NUMBER}|between {NUMBER} and {NUMBER}": _numbers,
    "one of (.+)": lambda match: Range(_word(match[1]), lambda: list(_words(match[1])())),
    "some of (.+)": _selection,
    "each (.+)": _each,
    "any text|a column|a class": lambda _: _text(),
    "columns": lambda _: Range(Annotated[list[Annotated[str, Strict()]], LIST]),
    "true or false": lambda _: Range(Annotated[bool, FLAG, Strict()], lambda: [True, False]),
    "a file": lambda _: _path(),
    "a new file": lambda _: _path(new=True),
    r"a file like (\S+)": lambda match: _path(like=match[1]),
    r"a (\.\w+) file": lambda match: _path(ending=match[1]),
    r"file\.py:name": lambda _: _path(ending=".py", name=r"[^\W\d]\w*"),
    "an address": lambda _: _text(r"\w+://[\w.-]+:\d+"),
    r"([\w.]+):[A-Z]+": lambda match: _text(rf"{match[1]}:[\w.-]+"),
    "module:name": lambda _: _text(r"(?!.*\.py:)\w+(\.\w+)*:\w+"),
}


def parse(text: str) -> Range:
    """Return the range that a text describes.

    Raises
    ------
    ValueError : the text has none of the known forms
    """
    plain = re.sub(r"\s*\([^)]*\)", "", text).strip()
    parts = [_form(part.strip()) for part in ([plain] if plain == "true or false" else plain.split(" or "))]
    if len(parts) == 1:
        return parts[0]
    kinds: Any = Union[tuple(part.kind for part in parts)]  # noqa: UP007
    like = next((part.like for part in parts if part.like), "")
    first = Field(union_mode="left_to_right")
    return Range(Annotated[kinds, first], lambda: [value for part in parts for value in part.samples()], like)


def _form(text: str) -> Range:
    for form, make in FORMS.items():
        match = re.fullmatch(form, text)
        if match:
            return make(match)
    raise ValueError(f"{text!r} is no range, such as 2 to 5, at least 1, one of a, b, None or a file")
