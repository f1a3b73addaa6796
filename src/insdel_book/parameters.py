"""Parameters of a chapter: `name = default  # what it means; what it may be`, read and checked.

Where the comment is too long for its line, it stands above, on lines of its own.

What a parameter may be follows the last semicolon of its comment, in words that a person reads and `parse`
understands: `2 to 5`, `at least 1`, `one of a, b`, `some of a, b`, `each at least 0`, `None or a file` …
(all of them: notebooks/README.md).
"""

from __future__ import annotations

import ast
import difflib
import re
import socket
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from insdel.errors import UserError
from insdel_book.ranges import forms, parse, reason

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n:tags: \[parameters\]\n(.*?)^```", re.MULTILINE | re.DOTALL)
LIKE = {"Bangalore.csv": "bangalore", "dielectron.csv": "cern"}
ANSWER = 1.0  # seconds that a scheduler has to answer


@dataclass(frozen=True)
class Parameter:
    """One line of a chapter's parameter cell: `name = default  # meaning; what it may be`."""

    name: str
    default: Any
    comment: str
    lines: slice  # of the cell, without a comment above

    @property
    def meaning(self) -> str:
        """The comment without what the parameter may be."""
        return self.comment.rpartition(";")[0].strip()

    @property
    def may_be(self) -> str:
        """What it may be, in words."""
        return self.comment.rpartition(";")[2].strip()

    @cached_property
    def range(self) -> TypeAdapter[Any]:
        """What it may be, ready to check a value."""
        return parse(self.may_be)

    def fit(self, value: Any) -> Any:
        """Return the value in the type that is needed (text comes from a command line), or say what it may be."""
        if type(value) is type(self.default) and value == self.default:
            return value
        try:
            return self.range.validate_python(value)
        except ValidationError as refusal:
            why = f" ({reason(refusal)})" if reason(refusal) else ""
            may_be = f"parameter {self.name!r} ({self.meaning}) may be {self.may_be}"
            raise UserError(f"{may_be}; found {value!r}{why}.") from None

    def __str__(self) -> str:
        return f"{self.name} = {self.default!r}  # {self.comment}"


def cell_source(text: str) -> str:
    """The parameter cell of a chapter's `.md`, empty if it has none; quicker than to read the whole as a notebook."""
    match = CELL.search(text)
    return match[1].strip("\n") if match else ""


def read_source(source: str) -> dict[str, Parameter]:
    """Return the parameters by name, from the source of a parameter cell."""
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    comments = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    parameters = {}
    for node in ast.parse(source).body:
        first = node.lineno  # of the comment: behind the statement, or on lines of its own right above it
        while first - 1 in comments and not comments[first - 1].start[1] and node.end_lineno not in comments:
            first -= 1
        shown = [node.end_lineno] if first == node.lineno else range(first, node.lineno)
        comment = " ".join(comments[line].string.lstrip("# ") for line in shown if line in comments)
        try:
            match node:
                case ast.Assign([ast.Name(name)], value):
                    lines = slice(node.lineno - 1, node.end_lineno)
                    parameters[name] = Parameter(name, ast.literal_eval(value), comment, lines)
                case _:
                    raise ValueError("not a plain name and its value")
            forms(parameters[name].may_be)
        except ValueError as error:
            needed = "a parameter cell needs lines of the form `name = literal  # meaning; what it may be`"
            raise UserError(f"{needed}; found `{ast.unparse(node)}` ({error}).") from error
    return parameters


def check_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` in the types that are needed; refuse unknown names and what lies out of range."""
    for name in values:
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            known = [f"  {parameter}" for parameter in parameters.values()]
            raise UserError("\n".join([f"there is no parameter {name!r}.{guess} The chapter has:", *known]))
    return {name: parameters[name].fit(value) for name, value in values.items()}


def inspect_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Refuse tables, models, photos and addresses that cannot be used, before a kernel starts, which takes seconds.

    values : checked already by `check_values`; only what the user set
    """
    for name, value in values.items():
        if value is not None and (like := re.search(r"a file like (\S+)", parameters[name].may_be)):
            from insdel_paper.data import DataError, files

            kind = LIKE[like[1]]
            try:
                files.MODULES[kind].read(files.given(kind, value))
            except (DataError, FileNotFoundError) as error:
                raise UserError(f"parameter {name!r}: {error}") from None
    if values.get("csv") is not None:
        from insdel.own import table

        options = {name: values[name] for name in ("drop", "keep", "task", "positive") if name in values}
        table.read(values["csv"], values.get("target"), **options)
    elif values.get("target") is not None:
        raise UserError("target needs csv, the table that has this column. Add -p csv FILE.")
    if str(values.get("model", "")).endswith(".safetensors"):
        from safetensors import SafetensorError, safe_open

        try:
            safe_open(values["model"], framework="numpy")
        except SafetensorError as error:
            raise UserError(f"parameter 'model': safetensors are needed; found {error}. Is it complete?") from None
    if values.get("scheduler"):
        reach(values["scheduler"])
    if "network" in parameters and values.get("label") is not None:
        from insdel_paper.studies.images import find_class

        find_class(values["label"])
    if values.get("device") == "cuda":
        from insdel.own.devices import pick_device

        pick_device("cuda")
    if Path(str(values.get("photo", ""))).is_file():
        from insdel_paper.studies.images import open_photo

        open_photo(values["photo"])


def reach(address: str) -> None:
    """Refuse a scheduler that does not answer."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), ANSWER).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"parameter 'scheduler': no scheduler answers at {address} ({error}). Is it running?") from None


def check_parameters() -> None:
    """Check the parameters of the running notebook, however they were set: by hand, by papermill, by `insdel run`.

    What they may be is read from the notebook's own parameter cell, found among the inputs that IPython keeps.
    """
    from IPython import get_ipython

    names = getattr(get_ipython(), "user_ns", {})
    for source in names.get("In", []):
        with suppress(ValueError, SyntaxError, tokenize.TokenError):  # those of other cells
            if parameters := read_source(source):
                break
    else:
        return
    check_values(parameters, {name: names[name] for name in parameters if name in names})
