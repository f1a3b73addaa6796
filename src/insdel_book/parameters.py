"""Parameters of a chapter: `name = default  # what it means; what it may be`, read and checked.

Where the comment is too long for its line, it stands above, on lines of its own.

What a parameter may be follows the last semicolon of its comment, in words that a person reads and `parse`
understands: `2 to 5`, `at least 1`, `one of a, b`, `some of a, b`, `each at least 0`, `None or a file` …
(all of them: `insdel_book.ranges`).
"""

from __future__ import annotations

import ast
import difflib
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

from insdel.errors import UserError
from insdel_book.ranges import Mismatch, Range, parse

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n:tags: \[parameters\]\n(.*?)^```", re.MULTILINE | re.DOTALL)


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
    def range(self) -> Range:
        """What it may be, ready to check a value."""
        return parse(self.may_be)

    def fit(self, value: Any) -> Any:
        """Return the value in the type that is needed (text comes from a command line), or say what it may be."""
        if type(value) is type(self.default) and value == self.default:
            return value
        try:
            return self.range.fit(value)
        except Mismatch as problem:
            reason = f" ({problem})" if str(problem) else ""
            raise UserError(
                f"parameter {self.name!r} ({self.meaning}) may be {self.may_be}; found {value!r}{reason}."
            ) from None

    def __str__(self) -> str:
        return f"{self.name} = {self.default!r}  # {self.comment}"


def cell_source(text: str) -> str:
    """The parameter cell of a chapter's `.md`, empty if it has none; quicker than to read the whole as a notebook."""
    match = CELL.search(text)
    return match[1].strip("\n") if match else ""


def read_source(source: str) -> dict[str, Parameter]:
    """Return the parameters by name, from the source of a parameter cell."""
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    comments = {token.start: token.string.lstrip("# ") for token in tokens if token.string[:1] == "#"}
    parameters = [_parameter(node, _comment(node, comments)) for node in ast.parse(source).body]
    return {parameter.name: parameter for parameter in parameters}


def _comment(node: ast.stmt, comments: Mapping[tuple[int, int], str]) -> str:
    """What stands behind a statement, or on lines of its own right above it; comments by line and column."""
    behind = [text for (line, _), text in comments.items() if line == node.end_lineno]
    if behind:
        return behind[0]
    above: list[str] = []
    while (line := node.lineno - 1 - len(above), 0) in comments:
        above.insert(0, comments[line, 0])
    return " ".join(above)


def _parameter(node: ast.stmt, comment: str) -> Parameter:
    """Turn one statement of the parameter cell into a Parameter."""
    try:
        if not isinstance(node, ast.Assign):
            raise ValueError("not an assignment")
        (target,) = node.targets
        if not isinstance(target, ast.Name):
            raise ValueError("not a plain name")
        lines = slice(node.lineno - 1, node.end_lineno)
        parameter = Parameter(target.id, ast.literal_eval(node.value), comment, lines)
        parse(parameter.may_be)
        return parameter
    except ValueError as error:
        raise UserError(
            "a parameter cell needs lines of the form `name = literal  # meaning; what it may be`; found "
            f"`{ast.unparse(node)}` ({error})."
        ) from error


def check_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` in the types that are needed; refuse unknown names and what lies out of range."""
    for name in values:
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            known = [f"  {parameter}" for parameter in parameters.values()]
            raise UserError("\n".join([f"there is no parameter {name!r}.{guess} The chapter has:", *known]))
    return {name: parameters[name].fit(value) for name, value in values.items()}


def check_parameters() -> None:
    """Check the parameters of the running notebook, however they were set: by hand, by papermill, by `insdel run`.

    What they may be is read from the notebook's own parameter cell, found among the inputs that IPython keeps.
    """
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return
    names = shell.user_ns
    parameters = next(filter(None, map(_try_source, names.get("In", []))), {})
    check_values(parameters, {name: names[name] for name in parameters if name in names})


def _try_source(source: str) -> dict[str, Parameter]:
    """The parameters of a cell, none if it is not a parameter cell."""
    try:
        return read_source(source)
    except (ValueError, SyntaxError, tokenize.TokenError):
        return {}
