"""What a parameter may be, in words that a person reads and `parse` turns into a pydantic type.

`FORMS` has them all, and notebooks/README.md says what they mean. ` or ` joins several; parentheses are for people.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictStr, TypeAdapter, ValidationError

LARGEST = 2**62  # of whole numbers, so that seeds with something added still fit into 64 bits


def names(text: str) -> tuple[str, ...]:
    """The words of `a, b, c`, or those that `the methods` stands for: importing those who own them takes seconds."""
    if text == "the methods":
        from insdel import METHODS
        from insdel.stats import REFERENCES

        return (*METHODS, *REFERENCES)
    if text == "the recipes":
        from insdel_paper.networks.search import recipe_variants
        from insdel_paper.networks.training import RECIPES

        return tuple(dict.fromkeys(recipe for name in RECIPES for recipe in recipe_variants(name)))
    if text == "the exercises":
        from insdel_book.course import load_course

        return tuple(load_course("exercises").EXERCISES)
    return tuple(word.strip() for word in text.split(","))


def _number(value: Any) -> Any:
    """True is no number; 1e3 is a whole one; an integer keeps all its digits."""
    if isinstance(value, bool):
        raise ValueError("not a number")
    is_power = isinstance(value, str) and re.fullmatch(r"\s*[+-]?[\d.]+e\+?\d+\s*", value)
    return int(float(value)) if is_power and float(value).is_integer() else value


def _numbers(match: re.Match[str]) -> Any:
    """`2 to 5`, `at least 1`, `above 0.0`, `between 0.0 and 1.0`."""
    limits = [text for text in match.groups() if text]
    kind = float if "." in "".join(limits) else int
    low, high = kind(limits[0]), kind(limits[1]) if len(limits) > 1 else LARGEST if kind is int else None
    is_open = match[0].startswith(("above", "between"))
    bounds: dict[str, Any] = {"gt": low, "lt": high} if is_open else {"ge": low, "le": high}
    return Annotated[kind, Field(**bounds), BeforeValidator(_number)]


def _once(items: list[str]) -> list[str]:
    if len(set(items)) < len(items):
        raise ValueError("each once")
    return items


def _list(item: Any, *rules: Any) -> Any:
    return Annotated[list[item], BeforeValidator(split_list), *rules]


def _path(new: bool = False, folder: bool = False, ending: str = "", name: str = "") -> Any:
    """A path, meant from the current folder; `name` is a form of what may stand behind it after a colon."""

    def absolute(value: Any) -> str:
        file, _, inside = str(value).rpartition(":") if name else (str(value), "", "")
        path = Path(file).expanduser().absolute()
        if not isinstance(value, str | Path) or not file.endswith(ending) or not re.fullmatch(name, inside):
            raise ValueError
        if new and not path.parent.is_dir():
            raise ValueError(f"there is no folder {path.parent}")
        if not new and not (path.is_file() or (folder and path.is_dir())):
            raise ValueError(f"there is no file {path}")
        return f"{path}:{inside}" if name else str(path)

    return Annotated[Any, BeforeValidator(absolute)]


def _text(form: str) -> Any:
    return Annotated[StrictStr, Field(pattern=rf"\A(?:{form})\Z")]


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


TRUTH = BeforeValidator(lambda value: {"true": True, "false": False}.get(str(value).lower(), value))
NUMBER = r"(-?\d+(?:\.\d+)?)"
WORDS = r"(the methods|the recipes|the exercises|(?!the ).+)"
FORMS: dict[str, Callable[[re.Match[str]], Any]] = {
    "None": lambda _: Annotated[None, BeforeValidator(lambda value: None if value == "None" else value)],
    r"\[\]": lambda _: _list(Any, Field(max_length=0)),
    rf"{NUMBER} to {NUMBER}|at least {NUMBER}|above {NUMBER}|between {NUMBER} and {NUMBER}": _numbers,
    f"one of {WORDS}": lambda match: Literal[names(match[1])],
    f"some of {WORDS}": lambda match: _list(Literal[names(match[1])], Field(min_length=1), AfterValidator(_once)),
    "each (.+)": lambda match: _list(_kind(match[1]), Field(min_length=1)),
    "any text|a column|a class": lambda _: StrictStr,
    "columns": lambda _: _list(StrictStr),
    "true or false": lambda _: Annotated[bool, Field(strict=True), TRUTH],
    "a file": lambda _: _path(),
    "a new file": lambda _: _path(new=True),
    r"a file like \S+": lambda _: _path(folder=True),
    r"a (\.\w+) file": lambda match: _path(ending=match[1]),
    r"file\.py:name": lambda _: _path(ending=".py", name=r"[^\W\d]\w*"),
    "an address": lambda _: _text(r"\w+://[\w.-]+:\d+"),
    r"([\w.]+):[A-Z]+": lambda match: _text(rf"{match[1]}:[\w.-]+"),
    "module:name": lambda _: _text(r"(?!.*\.py:)\w+(\.\w+)*:\w+"),
}


def forms(text: str) -> list[tuple[Callable[[re.Match[str]], Any], re.Match[str]]]:
    """What each part of a text is made by; ValueError if one has none of the known forms."""
    plain = re.sub(r"\s*\([^)]*\)", "", text).strip()
    found = []
    for part in [plain] if plain == "true or false" else plain.split(" or "):
        hits = [(make, match) for form, make in FORMS.items() if (match := re.fullmatch(form, part.strip()))]
        if not hits or (part.startswith("each ") and not forms(part[5:])):
            raise ValueError(f"{part!r} is no range, such as 2 to 5, at least 1, one of a, b, None or a file")
        found += hits[:1]
    return found


def _kind(text: str) -> Any:
    kinds = tuple(make(match) for make, match in forms(text))
    return Annotated[Union[kinds], Field(union_mode="left_to_right")] if len(kinds) > 1 else kinds[0]  # noqa: UP007


def parse(text: str) -> TypeAdapter[Any]:
    """The type that a text describes, ready to check values; its JSON schema has the limits."""
    return TypeAdapter(_kind(text), config=ConfigDict(allow_inf_nan=False, regex_engine="python-re"))


def reason(refusal: ValidationError) -> str:
    """Why a value was refused; empty if the words for the range say it already."""
    reasons = [""]
    known = {"list_type": "not a list", "too_short": "none at all",
             "string_type": "not text; with papermill, -r passes text as it is"}  # fmt: skip
    for error in refusal.errors():
        context, kind = error.get("ctx", {}), error["type"]
        if kind == "literal_error":
            reasons.append(f"{error['input']!r} is none of {context['expected'].replace(chr(39), '')}")
        elif "error" in context:  # of our own validators
            reasons.append(str(context["error"]))
        elif kind == "int_parsing_size" or context.get("le") == LARGEST:
            reasons.append(f"too large: at most {LARGEST}")
        elif kind.startswith(("int", "float", "finite")):
            reasons.append("not a whole number" if kind.startswith("int") else "not a number")
        else:
            reasons.append(known.get(kind, ""))
    return max(reasons, key=len)
