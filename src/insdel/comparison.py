"""Methods × tests × pairs → one tidy table, chunk by chunk, resumable, on this machine or a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from insdel import chance, stats
from insdel.arrays import Points, is_tensor
from insdel.attribution import METHODS, explain_pairs, nearest, seeded
from insdel.attribution.own import CHANGED_BY, Attributions, attributions, check_against, is_explanation
from insdel.beam import WIDTH, pair_beam
from insdel.cluster import on_cluster, packed, unpacked
from insdel.curves import MODES, abc, auc, check_mode, order, pair_curves
from insdel.errors import UserError, UserTypeError, require, require_integer, require_one_of
from insdel.evaluate import Groups, Model, Pairs, at_x, ends, module_of, progress_off, random_hybrids
from insdel.identity import identity
from insdel.lattice import FEW_HYBRIDS, MAX_FEATURES, Lattice, pair_lattices
from insdel.probability import Probability
from insdel.stats import REFERENCES
from insdel.store import Store

if TYPE_CHECKING:
    from insdel.tree_pairs import LinkedGame
    from insdel.trees import TreeGame, Trees

    Game = Lattice | TreeGame | LinkedGame

PAPER_METHODS = (
    "kernel_shap", "integrated_gradients", "deeplift", "vanilla_grad", "input_x_gradient", "lime", "random"
)  # fmt: skip
ANY_MODEL = ("kernel_shap", "two_sided", "lime", "occlusion", "random")  # need no gradients
SAMPLES = 2048  # of Kernel SHAP by default, where more than 20 features differ
CHANCE_ORDERS = 64  # random orders, half of them the others reversed, where chance cannot be computed exactly
BEAM_SETS = 2**16  # subsets that a beam search for the scale may look at, over all sizes
EXACT = {"kernel_shap": "shapley", "banzhaf": "banzhaf"}  # what a game answers without calling f
COLUMNS = ["pair", "row", "method", "mode", "auc", "abc", "abc_per_feature", "score"]
SCALE = ["expected", "best", "best_is", "scale_from"]
Source = str | Attributions | Callable[..., Any]


@dataclass(frozen=True)
class Settings:
    """What is compared: all that decides the table, apart from model and points.

    methods : labels, each with what gives its attributions: the name of a method, attributions, or a function
    """

    methods: Mapping[str, Source]
    modes: tuple[str, ...] = MODES
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0
    score: bool = True

    def __post_init__(self) -> None:
        for mode in self.modes:
            check_mode(mode)
        if len({*self.modes}) != len(self.modes) or not self.modes:
            found = ", ".join(self.modes) or "none"
            raise UserError(f"modes must be one or both of {' and '.join(MODES)}, each once; found {found}.")
        known = [*METHODS, *REFERENCES]
        strange = next((name for name in self.methods.values() if isinstance(name, str) and name not in known), None)
        if strange is not None or not self.methods:
            found = "none." if strange is None else f"{strange!r}.{nearest(str(strange), known)}"
            raise UserError(f"methods must be among {', '.join(known)}; found {found}")
        taken = next((label for label in REFERENCES if self.methods.get(label, label) != label), None)
        if taken is not None:
            raise UserError(f"{taken!r} is what attributions are measured against. Give yours another label.")
        stray = [m for m in self.options if m not in self.methods]
        if stray:
            raise UserError(f"options are for methods that are compared ({', '.join(self.methods)}); found {stray}.")
        odd = next((part for part in self.options.items() if not isinstance(part[1], Mapping)), None)
        if odd is not None:
            raise UserTypeError(f"options of {odd[0]} must be a dictionary from names to values; found {odd[1]!r}.")

    def exact(self, label: str) -> bool:
        """Whether the attributions follow from the lattice."""
        return self.methods[label] in EXACT and not self.options.get(label)


def compare(
    f: Model,
    x: Points,
    reference: Points | None = None,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    background: Points | None = None,
    groups: Groups | None = None,
    modes: Sequence[str] = MODES,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    score: bool = True,
    seed: int = 0,
    chunk: int = 32,
    checkpoint: str | Path | None = None,
    scheduler: Any = None,
    progress: bool | None = None,
) -> Comparison:
    """Score the orders that explanations propose, for every pair.

    Parameters
    ----------
    x, reference : (pairs, n), or one reference for all; f gets rows of the kind that x is
    methods : names in `insdel.METHODS`, "best" (the best of all orders; for pairs that differ in more than 20 features
        the best that a search finds) and "expected" (the mean over them); or a dictionary from labels to such names, to
        `insdel.attributions(…)`, to a `shap.Explanation`, or to a function of f, x and reference. Default: what fits f
    background : (rows, n) instead of the reference: f is averaged over hybrids with each of them
    groups : columns that change together, {label: [columns]}
    options : per method, for instance ``{"integrated_gradients": {"steps": 50}}``
    score : place every area between chance (0) and the best order (1). That takes all 2ᵈ hybrids of each pair or,
        beyond 20 differing features, a search; without it the column is empty
    chunk : pairs that are worked on together; also what a checkpoint holds. Sampled Kernel SHAP shares what it learns
        about interactions among the pairs of a chunk, so its estimates depend on `chunk`, within their standard error
    checkpoint : folder for finished chunks; a run that was killed continues from there
    scheduler : address of a Dask scheduler ("tcp://…") or a `distributed.Client`; default: this process

    Returns
    -------
    Comparison: `table`, `summary()`, `test(a, b)`, `plot()`, `plot_walk(row)`, `report(path)`
    """
    pairs = Pairs.of(x, reference, groups, background).on_processor()
    rows = x.index if isinstance(x, pd.DataFrame) else pd.RangeIndex(len(pairs))
    rows = rows if len(rows) == len(pairs) else rows.repeat(len(pairs))
    some = replace(f, k=f.k or 0) if isinstance(f, Probability) else f  # where any class will do
    sources, more = _sources(methods, some, pairs, progress)
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    chosen = Settings(sources, modes, {**more, **(options or {})}, seed, score)
    settings = _matched(f, pairs, rows, chosen)
    require_integer("chunk", chunk, 1)
    parts = {int(part[0]): part for part in np.split(np.arange(len(pairs)), range(chunk, len(pairs), chunk))}
    facts = {**vars(settings), "methods": list(settings.methods.items())}  # their order counts
    classes = f.classes if isinstance(f, Probability) else lambda pairs: None
    store = Store(checkpoint, lambda: identity(some, pairs, **facts, chunk=chunk, classes=classes(pairs)))
    trees: dict[int, Trees] = {}
    sent = f if scheduler is None else packed(f)
    chunks = [Chunk(sent, pairs.subset(k), k, settings, trees) for start, k in parts.items() if not store.has(start)]
    if chunks:
        _warn_of_noise(some, pairs)
    tables: Iterator[tuple[Chunk, pd.DataFrame]] = ((part, part.table()) for part in chunks)
    if scheduler is not None:
        tables = on_cluster(lambda part: replace(part, f=unpacked(part.f)).table(), chunks, scheduler)
    with tqdm(total=len(pairs), unit=" pairs", delay=1, disable=progress_off(progress)) as bar:
        bar.update(len(pairs) - sum(len(part.pairs) for part in chunks))
        for part, table in tables:
            store.put(int(part.numbers[0]), table)
            bar.update(len(part.pairs))
    wide = pd.concat([store.get(start) for start in parts], ignore_index=True)
    wide.insert(1, "row", rows.to_numpy()[wide["pair"]])
    scale = wide[["pair", "mode", *SCALE]].drop_duplicates(["pair", "mode"])
    result = Comparison(wide[COLUMNS], scale, f, pairs, settings)
    result.warn_below_chance()
    return result


def _warn_of_noise(f: Model, pairs: Pairs) -> None:
    """Warn if points have other predictions alone, twice, than among each other: every curve holds that noise."""
    few = np.arange(min(len(pairs), 4))
    first = random_hybrids(f, pairs.subset(few))[1]
    again = np.array([at_x(f, pairs.subset([k, k])) for k in few])
    apart = np.abs(again - first[:, :1])
    if (apart > 1e-4 * np.abs(first).max()).any():
        worst, which = np.unravel_index(apart.argmax(), apart.shape)
        warnings.warn(
            f"f gives the same point different predictions; pair {worst} has {first[worst, 0]:.6g} at x among other "
            f"points and {again[worst, which]:.6g} alone, so curves, areas and scores hold this noise. Turn off what "
            "is random in f, such as dropout, and what depends on the other rows, such as a scaler that f fits.",
            stacklevel=3,
        )


def _sources(
    methods: Any, f: Model, pairs: Pairs, progress: bool | None
) -> tuple[dict[str, Source], dict[str, dict[str, Any]]]:
    """Labels and what gives their attributions, and options that a default choice, what fits f, needs."""
    if isinstance(methods, Mapping):
        return {str(label): _source(str(label), given) for label, given in methods.items()}, {}
    if methods is not None:
        methods = [methods] if isinstance(methods, str) else methods
        odd = next((m for m in methods if not isinstance(m, str)), None)
        if odd is not None:
            raise UserTypeError(
                f"methods must be names, or a dictionary from labels to names and attributions; found a "
                f"{type(odd).__name__} without a label: write {{'mine': …}}."
            )
        return {name: name for name in methods}, {}
    names: tuple[str, ...] = ANY_MODEL if module_of(f) is None else PAPER_METHODS
    if find_spec("sklearn") is None:
        names = tuple(name for name in names if name != "lime")
    many = int(pairs.differing().sum(axis=1).max()) > MAX_FEATURES
    if many:
        from insdel.tree_pairs import shapley_games

        many = not shapley_games(f, pairs.subset([0]))
    if progress is not False:
        sampled = f" (Kernel SHAP from {SAMPLES:,} subsets)" if many else ""
        tqdm.write(f"insdel.compare: no methods named, so {', '.join(names)}{sampled}.")
    return {name: name for name in names}, {"kernel_shap": {"samples": SAMPLES}} if many else {}


def _source(label: str, given: Any) -> Source:
    if is_explanation(given):
        return attributions(given)
    if is_tensor(given) or isinstance(given, np.ndarray | pd.DataFrame | pd.Series | list | tuple | dict):
        raise UserTypeError(
            f"{label!r} is a {type(given).__name__} whose sign nobody can tell. Wrap it: insdel.attributions(values, "
            f'sign=…). {CHANGED_BY}; ranking="absolute" for importances without a sign.'
        )
    if isinstance(given, str | Attributions) or callable(given):
        return given
    raise UserTypeError(f"{label!r} must be a method's name, attributions or a function; found {type(given).__name__}.")


def _matched(f: Model, pairs: Pairs, rows: pd.Index, settings: Settings) -> Settings:
    """Return the settings with the user's attributions in the order of the pairs, each checked against f."""
    own = {label: source for label, source in settings.methods.items() if isinstance(source, Attributions)}
    if not own:
        return settings
    chosen = f.classes(pairs) if isinstance(f, Probability) else None
    fixed = {label: part.for_class(chosen).matched(pairs, rows, label) for label, part in own.items()}
    if not isinstance(f, Probability) or f.k is not None:
        start, end = ends(f, pairs)
        for label, part in fixed.items():
            check_against(label, part, start, end)
    return replace(settings, methods={**settings.methods, **fixed})


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some pairs of a comparison, and how to score them.

    numbers : (pairs,) of each pair in the whole table
    trees : tree ensembles that were read before, by output
    """

    f: Model
    pairs: Pairs
    numbers: np.ndarray
    settings: Settings
    trees: dict[int, Trees] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """Return the rows of these pairs; where f is P(the predicted class), class by class."""
        if isinstance(self.f, Probability) and self.f.k is None:
            chosen, parts = self.f.classes(self.pairs), []
            for k in np.unique(chosen):
                index = np.flatnonzero(chosen == k)
                part = replace(self, pairs=self.pairs.subset(index), numbers=self.numbers[index])
                parts.append(replace(part, f=replace(self.f, k=int(k))).table())
            return pd.concat(parts).sort_values("pair", kind="stable", ignore_index=True)
        games, rows = self.games(), []
        for label in self.settings.methods:
            for mode, walks in zip(self.settings.modes, self.curves(label, games), strict=True):
                area = np.asarray(abc(walks, mode))
                values = {"auc": np.asarray(auc(walks)), "abc": area, "abc_per_feature": area / (walks.shape[1] - 1)}
                rows.append(pd.DataFrame({"pair": self.numbers, "method": label, "mode": mode, **values}))
        table = pd.concat(rows).sort_values("pair", kind="stable", ignore_index=True)
        if not self.settings.score:
            return table.assign(score=np.nan, expected=np.nan, best=np.nan, best_is="", scale_from="")
        scale = [(self.numbers[k], mode, *self._scale(k, mode, games)) for k in range(len(self.pairs))
                 for mode in self.settings.modes]  # fmt: skip
        wide = table.merge(pd.DataFrame(scale, columns=["pair", "mode", *SCALE]), on=["pair", "mode"], how="left")
        largest = np.maximum(wide["best"], wide.groupby(["pair", "mode"])["abc"].transform("max"))
        wide["best"] = np.where(wide["best_is"] == "search", largest, wide["best"])
        wide["score"] = chance.normalised(*(wide[name].to_numpy() for name in ("abc", "expected", "best")))
        return wide

    def games(self) -> Sequence[Game]:
        """The games of all pairs, if something needs them: they serve all methods and curves.

        Tree ensembles in closed form; else lattices up to 20 differing features, and nothing beyond. Lattices are also
        quicker for a few hybrids, and answer exactly where there is a link.
        """
        sources = self.settings.methods.values()
        exact = self.settings.score or "best" in sources or any(map(self.settings.exact, self.settings.methods))
        expected = "expected" in sources
        if not exact and not expected:
            return []
        d = int(self.pairs.differing().sum(axis=1).max())
        few = d <= MAX_FEATURES and len(self.pairs) * 2**d <= FEW_HYBRIDS
        if not few:
            from insdel.tree_pairs import tree_games  # SciPy's sparse matrices take a while to load

            games = tree_games(self.f, self.pairs, self.trees)
            if games and (hasattr(games[0], "shapley") or d > MAX_FEATURES):
                return games
        if d <= MAX_FEATURES or expected:  # beyond the limit, it says what it would take
            return list(pair_lattices(self.f, self.pairs, progress=False))
        return []

    def _scale(self, k: int, mode: str, games: Sequence[Game]) -> tuple[float, float, str, str]:
        """Chance and the best area of a pair: exact from its game, else from random orders and a search."""
        if games:
            expected, origin, width = games[k].expected_abc(mode), getattr(games[k], "origin", "hybrids"), None
        else:
            pair, generator = self.pairs.subset([k]), np.random.default_rng([self.settings.seed, int(self.numbers[k])])
            half = generator.permuted(np.tile(np.arange(pair.n), (CHANCE_ORDERS // 2, 1)), axis=1)
            walks = pair_curves(self.f, pair, np.concatenate([half, half[:, ::-1]]))
            width = max(4, min(WIDTH, BEAM_SETS // max(int(pair.differing().sum()) ** 2, 1)))
            expected, origin = float(np.mean(abc(walks, mode))), "samples"
        _, area, exact = self._best(k, mode, games, width)
        return expected, area, "exact" if exact else "search", origin

    def curves(self, label: str, games: Sequence[Game]) -> list[np.ndarray]:
        """Curves of a method's orders, (pairs, n + 1) for each mode: by look-up where there are games."""
        if self.settings.methods[label] == "expected":
            return [np.stack([np.asarray(game.expected_curve()) for game in games])] * len(self.settings.modes)
        every = self.orders(label, games)
        if not games:
            return [pair_curves(self.f, self.pairs, orders) for orders in every]
        return [np.stack([np.asarray(game.curve(row)) for game, row in zip(games, orders, strict=True)])
                for orders in every]  # fmt: skip

    def orders(self, label: str, games: Sequence[Game]) -> list[np.ndarray]:
        """A method's orders, (pairs, n) for each mode; an absolute ranking has one for all modes."""
        source, modes = self.settings.methods[label], self.settings.modes
        if source == "best":
            return [np.stack([self._best(k, mode, games)[0] for k in range(len(self.pairs))]) for mode in modes]
        values = self._attributions(label, source, games)
        absolute = isinstance(source, Attributions) and source.ranking == "absolute"
        return [np.asarray(order(values, "insertion" if absolute else mode)) for mode in modes]

    def _best(
        self, k: int, mode: str, games: Sequence[Game], width: int | None = None
    ) -> tuple[np.ndarray, float, bool]:
        """The best order of a pair, (n,), its area, and whether it is exact: from its game, lattice or a beam search.

        width : of the beam, also for pairs that a lattice could answer
        """
        pair, game = self.pairs.subset([k]), games[k] if games else None
        if game is None and (width or int(pair.differing().sum()) > MAX_FEATURES):
            beam = pair_beam(self.f, pair, mode, width or WIDTH)
            return np.asarray(beam.order).reshape(-1), beam.abc, beam.exact
        game = next(pair_lattices(self.f, pair, progress=False)) if game is None else game
        if isinstance(game, Lattice):
            best = np.asarray(game.best_order(mode))
            return best, float(game.abc(best, mode)), True
        found = game.search(mode, max_exact=MAX_FEATURES) if game.d <= MAX_FEATURES else game.search(mode)
        return found.order, found.area, found.exact

    def _attributions(self, label: str, source: Source, games: Sequence[Game]) -> np.ndarray:
        """Attributions of these pairs, (pairs, n), in the paper's sign."""
        if isinstance(source, Attributions):
            return source.values[self.numbers]
        if isinstance(source, str):
            if games and self.settings.exact(label) and hasattr(games[0], EXACT[source]):
                return np.stack([np.asarray(getattr(game, EXACT[source])()) for game in games])
            options = seeded(source, self.settings.options.get(label, {}), self.settings.seed, self.numbers)
            return explain_pairs(source, self.f, self.pairs, **options)
        pairs = self.pairs  # from here on for a user's function of f, x and reference, or the rows of the background
        other = pairs.reference if pairs.background is None else pairs.background
        given = source(self.f, pairs.as_passed(pairs.x), pairs.as_passed(other))
        if not isinstance(given, Attributions):
            given = attributions(given) if is_explanation(given) else attributions(given, sign="change")
        return given.for_class(None).matched(pairs, pd.RangeIndex(len(pairs)), label).values


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `insdel.compare` returns.

    table : pair, row (of x, by its index), method, mode, auc, abc, abc_per_feature, score (0 chance, 1 best)
    scale : pair, mode, expected (chance), best, best_is ("exact", or "search": then scores are upper bounds),
        scale_from ("hybrids": all of them were predicted; "trees": closed forms of a tree ensemble; "trees and link":
        its leaves for curves and samples; "samples": of orders)
    """

    table: pd.DataFrame
    scale: pd.DataFrame
    f: Model
    pairs: Pairs
    settings: Settings

    def __repr__(self) -> str:
        methods = ", ".join(self.settings.methods)
        return f"Comparison({len(self.pairs)} pairs, {self.pairs.n} features; {methods})"

    def _repr_html_(self) -> str:
        return str(self.summary().round(3).to_html(index=False))

    @cached_property
    def points(self) -> pd.DataFrame:
        """Which points each pair is made of, (pairs,) row and reference_row: rows with equal values are one point."""
        parts = [self.pairs.x] if self.pairs.background is not None else [self.pairs.x, self.pairs.reference]
        frame = pd.DataFrame(np.concatenate(parts))
        codes = frame.groupby(list(frame), sort=False, dropna=False).ngroup().to_numpy()
        m = len(self.pairs)
        other = codes[m:] if len(parts) == 2 else np.full(m, -1)
        fixed = m > 1 and len(np.unique(other)) == 1
        return pd.DataFrame({"pair": range(m), "row": codes[:m], "reference_row": np.full(m, -1) if fixed else other})

    def summary(self, differences: Sequence[tuple[str, str]] = (), **options: Any) -> pd.DataFrame:
        """Mean ABC and mean score with standard errors, per test and method; `options` are those of `insdel.summary`.

        The score is Σ(ABC − chance) / Σ(best − chance) over the pairs. Errors count shared points.
        """
        rows = stats.summary(self.table, self.points, differences, value="abc", **options)
        if not self.settings.score:
            return rows
        scale = self.scale.groupby("mode")
        kinds = scale["best_is"].max().to_frame()  # "search" if any was
        kinds["scale_from"] = scale["scale_from"].unique().map(", ".join)
        return rows.merge(self._scores(), how="left", on=["method", "mode"]).join(kinds, on="mode")

    def _scores(self) -> pd.DataFrame:
        """The score of every method in every test, and its standard error; NaN where no order beats chance."""
        ends, rows = stats.PairIds.of(self.points), []
        table = self.table.merge(self.scale, on=["pair", "mode"])
        for (method, mode), part in table.groupby(["method", "mode"], sort=False):
            gain, room = part["abc"] - part["expected"], part["best"] - part["expected"]
            rows.append((method, mode, *(stats.ratio(gain, room, ends) if room.sum() > 0 else (np.nan, np.nan))))
        return pd.DataFrame(rows, columns=["method", "mode", "score", "score_se"])

    def test(self, a: str, b: str, level: float = 0.95) -> pd.DataFrame:
        """Is a better than b? Difference of the mean ABC, interval, p and p_holm (over the tests), one row per mode."""
        for name in (a, b):
            require_one_of("a method that is tested", name, self.settings.methods)
        ends, rows = stats.PairIds.of(self.points), []
        for mode in self.settings.modes:
            wide = self.table[self.table["mode"] == mode].pivot_table("abc", "pair", "method")
            found = stats.mean_test((wide[a] - wide[b]).to_numpy(), ends, level)
            rows.append((f"{a} − {b}", mode, *found, len(wide)))
        result = pd.DataFrame(rows, columns=["difference", "mode", "mean", "se", "low", "high", "p", "pairs"])
        return result.assign(p_holm=stats.holm_adjusted(result["p"].to_numpy()))

    def warn_below_chance(self) -> None:
        """Warn of attributions of one's own that rank clearly worse than chance: their sign may be the wrong one."""
        own = {label: source for label, source in self.settings.methods.items() if not isinstance(source, str)}
        if not self.settings.score or not own:
            return
        for label, rows in self._scores().groupby("method"):
            signed = label in own and getattr(own[label], "ranking", "signed") == "signed"
            if signed and (rows["score"] < np.minimum(-2 * rows["score_se"].fillna(0), -0.05)).all():
                found = ", ".join(rows["score"].map("{:.2f}".format))
                warnings.warn(
                    f"{label}: scores {found} are clearly below chance (0), so the ranking may be upside down. "
                    f"{CHANGED_BY}.",
                    stacklevel=3,
                )

    def curves(self, row: Any, mode: str = "insertion") -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Curves (n + 1,) and orders (n,) of every method for one row of x, by its index."""
        places = self.table.loc[self.table["row"] == row, "pair"].unique()
        if not len(places):
            known = ", ".join(map(str, self.table["row"].unique()[:10]))
            raise UserError(f"row must be one of x's rows ({known}, …); found {row!r}.")
        pair, settings = int(places[0]), replace(self.settings, modes=(check_mode(mode),), score=False)
        f = replace(self.f, k=int(self.f.classes(self.pairs)[pair])) if isinstance(self.f, Probability) else self.f
        chunk = Chunk(f, self.pairs.subset([pair]), np.array([pair]), settings)
        games = chunk.games()
        ordered = [label for label, source in settings.methods.items() if source != "expected"]
        walks = {label: chunk.curves(label, games)[0][0] for label in settings.methods}
        return walks, {label: chunk.orders(label, games)[0][0] for label in ordered}

    def plot(self, axes: Any = None) -> Any:
        """Draw the scores of all methods and tests with two standard errors; matplotlib axes in, axes out."""
        return require("insdel.plots", "plot").plot_comparison(self, axes)

    def plot_walk(self, row: Any, mode: str = "insertion", axes: Any = None) -> Any:
        """Draw the walks of all methods for one row of x, with the features that each changes first."""
        return require("insdel.plots", "plot_walk").plot_walk(self, row, mode, axes)

    def report(self, path: str | Path, title: str = "Does the explanation rank the features well?") -> Path:
        """Write one self-contained HTML page: the answer, its uncertainty, a plot, three walks, the settings."""
        page: Path = require("insdel.report", "report").write_report(self, Path(path), title)
        return page
