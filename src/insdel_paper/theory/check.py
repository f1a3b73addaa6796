"""What a symbolic check returns (a statement, a verdict, the expressions behind it), and the registry of all checks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, ParamSpec

import sympy as sp

P = ParamSpec("P")
Result = tuple[bool, Mapping[str, Any]]  # verdict, and the expressions that it rests on by label

LONGEST = 700  # characters; a longer formula fills a page and tells the reader nothing
SUBSCRIPT = re.compile(r"(?<=\b\w)_(\w)|(?<=IG)_(\w)")  # of a label such as φ_1
UNBROKEN = 40  # characters of a sum that may stand in one piece; a browser breaks no line inside a formula


def readable(text: str, expression: Any) -> str:
    """The text of an expression, or how many terms it has when it is too long to read."""
    if len(text) <= LONGEST:
        return text
    return f"({len(expression.args if isinstance(expression, sp.Basic) else expression)} terms, not shown)"


def latex(expression: Any) -> str:
    """LaTeX between dollar signs; a list or a long sum piece by piece, so that lines can break."""
    text = sp.latex(expression)
    if isinstance(expression, list | tuple):
        pieces = ", ".join(f"${sp.latex(part)}$" for part in expression)
    elif isinstance(expression, sp.Add) and len(text) > UNBROKEN:
        first, *others = (sp.latex(term) for term in expression.as_ordered_terms())
        signed = (term if term.startswith("-") else f"+ {term}" for term in others)
        pieces = " ".join([f"${first}$", *(f"${{}} {term}$" for term in signed)])
    else:
        pieces = f"${text}$"
    return readable(pieces, expression)


def unfolding(code: str) -> str:
    """Code under a line that opens it: HTML, which pages, Jupyter and Colab show alike; empty without code."""
    if not code:
        return ""
    head = '<details class="check-code"><summary>The code of this check</summary>'
    return f"\n\n{head}\n\n```python\n{code.rstrip()}\n```\n\n</details>"


def source(function: Callable[..., Any]) -> str:
    """The code of a function from its `def` on, without decorators, under the name of its module."""
    text = inspect.getsource(function)
    return f"# {function.__module__}\n{text[text.index('def ') :]}"


@dataclass(frozen=True)
class Check:
    """A statement of the paper and whether it holds; true or false in an `if`.

    Attributes
    ----------
    name : the function that made it, e.g. "theorem_1"
    where : place in the paper
    statement : Markdown with LaTeX
    holds : the verdict, from exact arithmetic only
    details : label → sympy expression, what the verdict rests on
    code : source of the function that made it, which a page unfolds
    """

    name: str
    where: str
    statement: str
    holds: bool
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)
    code: str = field(default="", compare=False, repr=False)

    def __bool__(self) -> bool:
        return self.holds

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "✓ holds" if self.holds else "✗ does not hold"

    def __str__(self) -> str:
        head = f"{self.verdict}: {self.name} ({self.where}). {self.statement}"
        return "\n".join([head, *(f"    {k}: {readable(str(v), v)}" for k, v in self.details.items())])

    def markdown(self) -> str:
        """Verdict, statement and expressions, without the code."""
        head = f"**{self.verdict}** · {self.statement} *({self.where})*"
        labels = (SUBSCRIPT.sub(r"<sub>\1</sub>", label) for label in self.details)
        lines = [f"- {label}: {latex(value)}" for label, value in zip(labels, self.details.values(), strict=True)]
        return "\n".join([head, "", *lines]) if lines else head

    def _repr_markdown_(self) -> str:
        return self.markdown() + unfolding(self.code)


FUNCTIONS: dict[str, Callable[..., Check]] = {}  # each check by name
CHECKS: dict[str, Callable[[], Check]] = {}  # each check at its default size; those with cases once per case


def statement(where: str, cases: Iterable[Any] = ()) -> Callable[[Callable[P, Result]], Callable[P, Check]]:
    """Register the function below as the check of the statement in its docstring, found at `where` in the paper.

    The docstring is Markdown with LaTeX, in which %(n)s stands for the function's argument n.

    Parameters
    ----------
    cases : values of the function's first argument, each of which is a check of its own in `CHECKS`
    """

    def register(function: Callable[P, Result]) -> Callable[P, Check]:
        name, words = function.__name__, " ".join(str(function.__doc__).split())

        @wraps(function)
        def check(*args: P.args, **options: P.kwargs) -> Check:
            bound = inspect.signature(function).bind(*args, **options)
            bound.apply_defaults()
            return Check(name, where, words % bound.arguments, *function(*args, **options), code=source(function))

        if name in FUNCTIONS:
            raise ValueError(f"a check has a name of its own; found two called {name!r}. Rename one.")
        FUNCTIONS[name] = check
        for label, run in [(f"{name}({case})", partial(check, case)) for case in cases] or [(name, partial(check))]:
            CHECKS[label] = run
        return check

    return register


@dataclass(frozen=True)
class Erratum:
    """A slip: the printed version and the corrected one, each as a check; true if one is false and the other true.

    Attributes
    ----------
    number : row of the list of errata
    where : place in the paper
    printed, corrected : the two versions
    reading : another reading of the printed words, if there is one worth a check
    remarks : further facts that belong to it
    code : source of the function that made it, which a page unfolds
    """

    number: int
    where: str
    printed: Check
    corrected: Check
    reading: Check | None = None
    remarks: tuple[Check, ...] = ()
    code: str = field(default="", compare=False, repr=False)

    def __bool__(self) -> bool:
        return self.corrected.holds and not self.printed.holds

    @property
    def verdict(self) -> str:
        """Whether the printed version is a slip, as the checks say."""
        if self.printed:
            return "refuted: the printed version holds"
        if not self.corrected:
            return "neither version holds"
        return "a matter of reading" if self.reading else "confirmed"

    def versions(self) -> Iterator[tuple[str, Check]]:
        """Each version with its label: printed, read otherwise, corrected, remarks."""
        yield "printed", self.printed
        if self.reading is not None:
            yield "printed, read otherwise", self.reading
        yield "corrected", self.corrected
        yield from (("remark", remark) for remark in self.remarks)

    def __str__(self) -> str:
        head = f"erratum {self.number} ({self.where}): {self.verdict}"
        return "\n".join([head, *(f"  [{label}] {check}" for label, check in self.versions())])

    def _repr_markdown_(self) -> str:
        head = f"**Erratum {self.number}** *({self.where})*: {self.verdict}"
        versions = [f"*{label}:* {check.markdown()}" for label, check in self.versions()]
        return "\n\n".join([head, *versions]) + unfolding(self.code)
