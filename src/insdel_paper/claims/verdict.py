"""What a claim is, what was found about it, and the rules by which a number becomes a verdict.

"More than": beyond the limit by two standard errors holds, short of it by two does not hold, else undecided. "Equal",
"close to": within a margin that is stated, by two standard errors (two one-sided tests); outside it by two: does not
hold; else undecided. Where an error comes from a few replicates, Student's t takes the place of the two. A printed
number of one run beside many runs of ours: inside their 95 % prediction interval or not. Noise decides nothing, and
every rule can come out either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml
from scipy.stats import t as student

from insdel_paper.printed import size

HOLDS = "holds"
PART = "holds in part"
NOT = "does not hold"
UNDECIDED = "undecided"
CANNOT = "cannot be tested here"
VERDICTS = (HOLDS, PART, NOT, UNDECIDED, CANNOT)

LEVEL = 2.0  # standard errors by which a number has to clear its limit
SHARE = 0.5  # of the numbers of a statement that have to be as claimed for it to hold in part

# The paper's words as limits, and what the page says about each.
_ROWS = yaml.safe_load(Path(__file__).with_name("limits.yml").read_text(encoding="utf-8"))
LIMITS: dict[str, float] = {word: limit for word, (limit, _) in _ROWS.items()}
WORDS: dict[str, str] = {word: text for word, (_, text) in _ROWS.items()}


@dataclass(frozen=True)
class Figure:
    """One number of ours, beside the paper's, and what it says about the claim.

    Attributes
    ----------
    ours, se : our number and its standard error; None where there is none
    paper, paper_se : the printed ones
    rule : what the claim requires of our number, "> 0" for instance
    verdict : one of `VERDICTS`; None for a number that is only shown
    margin : how far it is on the claimed side of its limit, in standard errors; None where there is none
    df : degrees of freedom of the standard error, where few replicates are behind it
    """

    label: str
    ours: float | None
    se: float | None = None
    paper: float | None = None
    paper_se: float | None = None
    rule: str = ""
    verdict: str | None = None
    margin: float | None = None
    df: int | None = None

    @property
    def apart(self) -> float | None:
        """Our number minus the paper's, in standard errors of both combined; None where there is no error."""
        if self.ours is None or self.paper is None or self.se is None or self.paper_se is None:
            return None
        error = math.hypot(self.se, self.paper_se)
        return (self.ours - self.paper) / error if error > 0 else None


@dataclass(frozen=True)
class Finding:
    """A verdict with its reason, its numbers, and what it was derived from (records, checks)."""

    verdict: str
    because: str
    figures: tuple[Figure, ...] = ()
    evidence: tuple[str, ...] = ()


class NoNumberError(ValueError):
    """A verdict was asked of NaN: a statistic of too few pairs, or a mistake."""


class MissingRunError(LookupError):
    """A claim needs a policy or a method that was not run."""


class MissingRecordError(LookupError):
    """A recorded run that a claim needs is not there: the `record` that this `command` makes."""

    def __init__(self, record: str, command: str) -> None:
        super().__init__(f"the record {record!r} is missing; to make it: {command}")
        self.record, self.command = record, command


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and how it is checked.

    Attributes
    ----------
    id : short name, unique; never changed once published
    where : place in the paper
    statement : in our words, Markdown with LaTeX
    chapter : label of the book's chapter about it
    check : derives the finding from sympy objects or recorded results
    """

    id: str
    where: str
    statement: str
    chapter: str
    check: Callable[[], Finding]

    def finding(self) -> Finding:
        """Derive the verdict; a record that is missing makes it one that cannot be tested here."""
        try:
            return self.check()
        except MissingRecordError as missing:
            because = f"The recorded run `{missing.record}` is not here. To make it: `{missing.command}`."
            return Finding(CANNOT, because, (), (missing.record,))
        except MissingRunError as missing:
            return Finding(CANNOT, f"{missing}.")


def level(df: int | None = None) -> float:
    """How many standard errors count as clear: two, or the 97.5 % quantile of t with few degrees of freedom."""
    return LEVEL if df is None else float(student.ppf(0.975, df))


def side(margin: float, se: float | None, df: int | None = None) -> str:
    """Verdict on one number, from how far it lies on the claimed side of its limit.

    By more than two standard errors (or t, with `df`): holds. On the other side by more: does not hold. Otherwise
    undecided. A number without a standard error is on the one side or on the other; the limit itself is on the
    claimed one.
    """
    if math.isnan(margin):
        raise NoNumberError("a verdict needs a number, found NaN. Look at the record or run that it was computed from.")
    if not se:
        return HOLDS if margin >= 0 else NOT
    return HOLDS if margin > level(df) * se else NOT if margin < -level(df) * se else UNDECIDED


def _figure(
    label: str, ours: float, se: float | None, rule: str, room: float, error: float | None, **others: Any
) -> Figure:
    """A number with its verdict; room : how far it is on the claimed side, error : the standard error of that."""
    verdict, margin = side(room, error, others.get("df")), room / error if error else None
    return Figure(label, ours, se, rule=rule, verdict=verdict, margin=margin, **others)


def above(label: str, ours: float, se: float | None = None, limit: float = 0.0, **others: Any) -> Figure:
    """A number that the claim says is larger than a limit; others : paper, paper_se, df of the figure."""
    figure = _figure(label, ours, se, f"> {limit:.4g}", ours - limit, se, **others)
    return replace(figure, verdict=NOT) if ours == limit and not se else figure


def below(label: str, ours: float, se: float | None = None, limit: float = 0.0, **others: Any) -> Figure:
    """A number that the claim says is at most a limit."""
    return _figure(label, ours, se, f"≤ {limit:.4g}", limit - ours, se, **others)


def within(label: str, ours: float, se: float | None, margin: float, center: float = 0.0, **others: Any) -> Figure:
    """A number that the claim says equals `center`: nearer to it than a margin, by two one-sided tests."""
    return _figure(label, ours, se, f"{center:.4g} ± {margin:.2g}", margin - abs(ours - center), se, **others)


def differs(label: str, ours: float, se: float | None, margin: float, **others: Any) -> Figure:
    """A number that the claim says is not 0, in whatever direction: further from it than a margin."""
    return _figure(label, ours, se, f"not 0 ± {margin:.2g}", abs(ours) - margin, se, **others)


def required(label: str, ours: float, se: float | None = None, /, **asked: Any) -> Figure:
    """A number beside one limit, `above`, `below` or `within` it, as a row of `claims.yml` asks.

    asked : the limit, as for `limit`, and others of the figure
    """
    [name] = asked.keys() & LIMITING.keys()
    return LIMITING[name](label, ours, se, limit(asked.pop(name)), **asked)


def limit(given: str | float) -> float:
    """A number, the limit of one of the paper's words, or a size that the paper prints."""
    return LIMITS[given] if given in LIMITS else size(given) if isinstance(given, str) else given


LIMITING: dict[str, Callable[..., Figure]] = {"above": above, "below": below, "within": within}


def repeats(label: str, ours: float, se: float, paper: float, paper_se: float, margin: float) -> Figure:
    """A printed mean: ours is nearer to it than a margin, both errors counted."""
    rule, error = f"{paper:.4g} ± {margin:.2g}", math.hypot(se, paper_se)
    return _figure(label, ours, se, rule, margin - abs(ours - paper), error, paper=paper, paper_se=paper_se)


def plausible(label: str, ours: float, spread: float, df: int, paper: float) -> Figure:
    """A printed number of one run: a plausible draw from ours, inside their 95 % prediction interval.

    ours, spread : mean of our runs, and the standard deviation of a new run about it
    """
    reach = level(df) * spread
    verdict = HOLDS if abs(ours - paper) <= reach else NOT
    return Figure(label, ours, spread, paper, 0.0, f"printed one in {ours:.3g} ± {reach:.2g}", verdict)


def equal(label: str, ours: float, paper: float, half: float = 0.0) -> Figure:
    """A number that was counted, or printed with rounding: equal to the paper's to within `half` a last digit."""
    verdict = HOLDS if abs(ours - paper) <= half else NOT
    return Figure(label, ours, None, paper, rule=f"= {paper:,.6g}", verdict=verdict)


def combine(verdicts: Iterable[str | None]) -> str:
    """The verdict on a statement about several numbers.

    All hold: holds. At least half do: holds in part. Fewer: does not hold if one of them does not, else undecided.
    Nothing tested: cannot be.
    """
    judged = [verdict for verdict in verdicts if verdict not in (None, CANNOT)]
    if not judged:
        return CANNOT
    held = judged.count(HOLDS) / len(judged)
    if held == 1:
        return HOLDS
    if held >= SHARE or PART in judged:
        return PART
    return NOT if NOT in judged else UNDECIDED


def judge(figures: Iterable[Figure], because: str = "", evidence: Iterable[str] = ()) -> Finding:
    """Combine numbers to a finding; say how many of them are as claimed."""
    shown = tuple(figures)
    verdicts = [figure.verdict for figure in shown if figure.verdict is not None]
    verdict = combine(verdicts)
    text = f"The number is {_WORDS[verdict]}." if len(verdicts) == 1 else "Nothing here decides it."
    if len(verdicts) > 1:
        counts = [f"{verdicts.count(name)} {words}" for name, words in _WORDS.items() if name in verdicts]
        text = f"Of {len(verdicts)} numbers: {', '.join(counts)}."
    return Finding(verdict, f"{because} {text}".strip(), shown, tuple(dict.fromkeys(evidence)))


_WORDS = {HOLDS: "as claimed", UNDECIDED: "too near the limit to tell", NOT: "not as claimed"}


Answer = Iterable[Figure | str]  # numbers, and sentences of the reason
Rule = Callable[..., Answer | Finding]
AnyRule = TypeVar("AnyRule", bound=Rule)
RULES: dict[str, tuple[Rule, str]] = {}  # by name, with what it needs


def rule(needs: str = "") -> Callable[[AnyRule], AnyRule]:
    """Enter the function below among the rules that `claims.yml` calls by name; a name is there once.

    needs : what comes before the arguments of the row: a "run" (called for each), all "runs", or "losses" of ROAR
    """

    def enter(function: AnyRule) -> AnyRule:
        if RULES.setdefault(function.__name__, (function, needs))[0] is not function:
            raise ValueError(f"a rule has a name of its own; found two called {function.__name__!r}. Rename one.")
        return function

    return enter
