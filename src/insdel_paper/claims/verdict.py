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
from dataclasses import dataclass

from scipy.stats import t as student

HOLDS = "holds"
PART = "holds in part"
NOT = "does not hold"
UNDECIDED = "undecided"
CANNOT = "cannot be tested here"
VERDICTS = (HOLDS, PART, NOT, UNDECIDED, CANNOT)

LEVEL = 2.0  # standard errors by which a number has to clear its limit
SHARE = 0.5  # of the numbers of a statement that have to be as claimed for it to hold in part

# What the paper's words are taken to mean: round numbers that the paper's own printed means fulfil wherever it uses
# the word (tests/paper/test_claims_verdict.py). They were chosen with the recorded runs on houses, the photo and the
# benchmark, and prototype figures of the events, already known; before the recorded runs on events and ROAR. The last
# three came with the margins of equivalence, when all records but those on genuine events were known.
LIMITS = {
    "tie": 0.02,  # differ by at most 2 % of the larger mean
    "close": 0.125,  # at least seven eighths of Kernel SHAP's mean
    "reasonably well": 0.25,  # at least three quarters of it
    "not well": 1 / 3,  # less than two thirds of it
    "poor": 0.5,  # less than half of it
    "much larger": 1.5,  # at least one and a half times as large
    "much faster": 10.0,  # at most a tenth of the time
    "point by point": 0.95,  # a correlation of at least this
    "most": 0.5,  # more than half
    "almost every": 0.9,  # at least this share
    "long tail": 1.0,  # a skewness of at least 1 (normal: 0, exponential: 2)
    "symmetric": 0.25,  # quartiles: |upper + lower − 2 median| at most a quarter of their distance
    "nothing": 0.02,  # at most this share of the whole
    "straight": 0.1,  # a bend of at most a tenth of the rise
    "diagonal": 0.5,  # a correlation of more than this
    "order": 0.7,  # a rank correlation of more than this
    "near zero": 0.1,  # at most a tenth of the other
    "far": 10.0,  # that many times the median
    "accurate": 0.95,  # R²
    "confident": 0.9,  # a probability
    "forgotten": 0.05,  # a probability, as a share of the first one
    "about": 0.05,  # shares that differ by at most this
    "strongly": 0.25,  # differ by at least a quarter of the larger mean
    "same correlation": 0.1,  # correlations that differ by at most this
    "as many": 0.1,  # numbers of features that differ by at most this
}
WORDS = {
    "tie": "“tie”, “almost the same”: means differ by at most {:.0%} of the larger one",
    "close": "“close”, “nearly as good”, “very well”: a mean falls short of Kernel SHAP's by at most {:.1%}",
    "reasonably well": "“reasonably well”: it falls short by at most {:.0%}; “disappointing”: by at least as much",
    "not well": "“not well”: it falls short by at least {:.0%}",
    "poor": "“poorly”: it falls short by at least {:.0%}",
    "much larger": "“much larger”: at least {:.1f} times as large",
    "much faster": "“much faster”: at most one part in {:.0f} of the time",
    "point by point": "“almost the same point by point”: a correlation of at least {:.2f}",
    "most": "“most”, “usually”: a share above {:.0%}",
    "almost every": "“almost every”: a share of at least {:.0%}",
    "long tail": "“long tail”, “heavily skewed”: a skewness of at least {:.0f}",
    "symmetric": "“nearly symmetric”: quartiles lie unevenly around the median by at most {:.0%} of their distance",
    "nothing": "“exclude”: a share of at most {:.0%}",
    "straight": "“nearly straight”: an area between curve and line of at most {:.0%} of the rise",
    "diagonal": "“near the diagonal”: a correlation above {:.1f}",
    "order": "“almost the same” order of the methods: a rank correlation above {:.1f}",
    "near zero": "“near zero”: at most {:.0%} of what it is compared with",
    "far": "“a few cases where … much larger”: the largest difference is more than {:.0f} times the median one",
    "accurate": "“very accurate”: R² above {:.2f}",
    "confident": "“confidently classified”: a probability above {:.0%}",
    "forgotten": "“completely forgets”: a probability below {:.0%} of the first one",
    "about": "“about 27 %”: shares of pixels that differ by at most {:.2f}",
    "strongly": "“depends strongly”: means that differ by at least {:.0%} of the larger one",
    "same correlation": "a printed correlation: ours differs by at most {:.1f}",
    "as many": "a printed number of features: ours differs by at most {:.1f}",
}


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
    """A recorded run that a claim needs is not there.

    Attributes
    ----------
    record : its name
    command : what records it
    """

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


def above(
    label: str,
    ours: float,
    se: float | None = None,
    limit: float = 0.0,
    paper: float | None = None,
    paper_se: float | None = None,
    df: int | None = None,
) -> Figure:
    """A number that the claim says is larger than a limit."""
    margin = ours - limit
    verdict = NOT if margin == 0 and not se else side(margin, se, df)
    return Figure(label, ours, se, paper, paper_se, f"> {limit:.4g}", verdict, margin / se if se else None, df)


def below(
    label: str,
    ours: float,
    se: float | None = None,
    limit: float = 0.0,
    paper: float | None = None,
    paper_se: float | None = None,
    df: int | None = None,
) -> Figure:
    """A number that the claim says is at most a limit."""
    margin = limit - ours
    rule = f"≤ {limit:.4g}"
    return Figure(label, ours, se, paper, paper_se, rule, side(margin, se, df), margin / se if se else None, df)


def within(
    label: str,
    ours: float,
    se: float | None,
    margin: float,
    center: float = 0.0,
    paper: float | None = None,
    paper_se: float | None = None,
    df: int | None = None,
) -> Figure:
    """A number that the claim says equals `center`: nearer to it than a margin, by two one-sided tests."""
    room = margin - abs(ours - center)
    rule = f"{center:.4g} ± {margin:.2g}"
    return Figure(label, ours, se, paper, paper_se, rule, side(room, se, df), room / se if se else None, df)


def differs(
    label: str, ours: float, se: float | None, margin: float, paper: float | None = None, paper_se: float | None = None
) -> Figure:
    """A number that the claim says is not 0, in whatever direction: further from it than a margin."""
    beyond = abs(ours) - margin
    rule = f"not 0 ± {margin:.2g}"
    return Figure(label, ours, se, paper, paper_se, rule, side(beyond, se), beyond / se if se else None)


def around(label: str, ours: float, se: float, paper: float, margin: float) -> Figure:
    """A number that is printed without an error: ours is nearer to it than a margin."""
    return within(label, ours, se, margin, paper, paper)


def repeats(label: str, ours: float, se: float, paper: float, paper_se: float, margin: float) -> Figure:
    """A printed mean: ours is nearer to it than a margin, both errors counted."""
    room, error = margin - abs(ours - paper), math.hypot(se, paper_se)
    rule, verdict = f"{paper:.4g} ± {margin:.2g}", side(room, error)
    return Figure(label, ours, se, paper, paper_se, rule, verdict, room / error if error else None)


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
    judged = [figure for figure in shown if figure.verdict is not None]
    verdict = combine(figure.verdict for figure in judged)
    text = f"Of {len(judged)} numbers: {counted(judged)}." if len(judged) > 1 else _SINGLE[verdict]
    return Finding(verdict, f"{because} {text}".strip(), shown, tuple(dict.fromkeys(evidence)))


def counted(judged: list[Figure]) -> str:
    """How many numbers are as claimed, and how many are not, in words."""
    words = {HOLDS: "as claimed", UNDECIDED: "too near the limit to tell", NOT: "not as claimed"}
    verdicts = [figure.verdict for figure in judged]
    return ", ".join(f"{verdicts.count(verdict)} {text}" for verdict, text in words.items() if verdict in verdicts)


_SINGLE = {
    HOLDS: "The number is as claimed.",
    UNDECIDED: "The number is too near the limit to tell.",
    NOT: "The number is not as claimed.",
    CANNOT: "Nothing here decides it.",
}


Rule = Callable[..., Finding]  # gets nothing, the run of an experiment, or what gives runs by policy
