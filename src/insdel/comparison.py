"""Methods × tests × pairs → one tidy table, chunk by chunk, resumable, on this machine or a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from insdel import chance, stats
from insdel.arrays import Points, is_tensor, to_numpy
from insdel.attribution import METHODS, explain_pairs, seeded
from insdel.attribution.own import CHANGED_BY, Attributions, attributions, check_against, is_explanation
from insdel.attribution.registry import nearest, resolve
from insdel.beam import WIDTH, pair_beam
from insdel.cluster import on_cluster, packed, unpacked
from insdel.curves import MODES, abc, auc, check_mode, order, pair_curves
from insdel.errors import UserError, UserTypeError, require, require_integer
from insdel.evaluate import Groups, Model, Pairs, ends, module_of, progress_off
from insdel.identity import identity
from insdel.lattice import FEW_HYBRIDS, MAX_FEATURES, Lattice, pair_lattices
from insdel.probability import Probability
from insdel.stats import REFERENCES
from insdel.store import Store

if TYPE_CHECKING:
    from insdel.tree_pairs import LinkedGame
    from insdel.trees import BestOrder, TreeGame, Trees

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
class Plan:
    """What is compared: all that decides the table, apart from model and points."""

    methods: tuple[str, ...] = PAPER_METHODS
    modes: tuple[str, ...] = MODES
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0
    sources: Mapping[str, Source] = field(default_factory=dict)  # where a label is not a method's own name
    score: bool = True

    def __post_init__(self) -> None:
        for mode in self.modes:
            check_mode(mode)
        known = [*METHODS, *REFERENCES]
        for label in self.methods:
            source = self.source(label)
            if isinstance(source, str) and source not in known:
                hint = nearest(source, known)
                raise UserError(f"methods must be among {', '.join(known)}; found {source!r}.{hint}")
        if not self.methods:
            raise UserError(f"methods must be among {', '.join(known)}; found none.")
        stray = [m for m in self.options if m not in self.methods]
        if stray:
            raise UserError(f"options are for methods that are compared ({', '.join(self.methods)}); found {stray}.")

    def source(self, label: str) -> Source:
        """What gives a label its attributions: the name of a method, attributions, or a function."""
        return self.sources.get(label, label)

    def method_options(self, label: str, pairs: Sequence[int] | np.ndarray) -> dict[str, Any]:
        """Options of a built-in method for the pairs with these numbers: one that draws is seeded pair by pair."""
        return seeded(str(self.source(label)), self.options.get(label, {}), self.seed, pairs)

    def exact(self, label: str) -> bool:
        """Whether the attributions follow from the lattice."""
        return self.source(label) in EXACT and not self.options.get(label)


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
    labels, sources, more = _sources(methods, f, pairs, progress)
    width = int(pairs.x.shape[1])
    choice = {label: resolve(given, x, width) for label, given in {**more, **(options or {})}.items()}
    plan = Plan(labels, tuple(modes), choice, seed, sources, score)
    plan = _matched(f, pairs, rows, plan)
    starts = range(0, len(pairs), require_integer("chunk", chunk, 1))
    facts = {name: part for name, part in vars(plan).items() if name != "sources" or part}
    store = Store(checkpoint, lambda: identity(f, pairs, **facts, chunk=chunk))
    sent = f if scheduler is None else packed(f)
    left = [s for s in starts if not store.has(s)]
    trees: dict[int, Trees] = {}
    index = np.arange(len(pairs))
    chunks = [Chunk(sent, pairs.some(index[s : s + chunk]), s, plan, trees=trees) for s in left]
    here = ((part, part.table()) for part in chunks)
    with tqdm(total=len(pairs), unit=" pairs", delay=1, disable=progress_off(progress)) as bar:
        bar.update(len(pairs) - sum(len(part.pairs) for part in chunks))
        for part, table in here if scheduler is None else on_cluster(_unpacked_table, chunks, scheduler):
            store.put(part.first, table)
            bar.update(len(part.pairs))
    wide = pd.concat([store.get(s) for s in starts], ignore_index=True)
    wide.insert(1, "row", rows.to_numpy()[wide["pair"]])
    result = Comparison(wide[COLUMNS], wide[["pair", "mode", *SCALE]].drop_duplicates(["pair", "mode"]), f, pairs, plan)
    result.warn_below_chance()
    return result


def _sources(
    methods: Any, f: Model, pairs: Pairs, progress: bool | None
) -> tuple[tuple[str, ...], dict[str, Any], dict[str, dict[str, Any]]]:
    """Labels, where their attributions come from, and options that a default choice needs."""
    if methods is None:
        return _fitting(f, pairs, progress)
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Mapping):
        odd = next((m for m in methods if not isinstance(m, str)), None)
        if odd is not None:
            raise UserTypeError(
                f"methods must be names, or a dictionary from labels to names and attributions; found a "
                f"{type(odd).__name__} without a label: write {{'mine': …}}."
            )
        return tuple(methods), {}, {}
    return tuple(map(str, methods)), {str(k): _source(str(k), v) for k, v in methods.items()}, {}


def _source(label: str, given: Any) -> Source:
    if isinstance(given, str | Attributions):
        return given
    if is_explanation(given):
        return attributions(given)
    if is_tensor(given) or isinstance(given, np.ndarray | pd.DataFrame | pd.Series | list | tuple | dict):
        raise UserTypeError(
            f"{label!r} is a {type(given).__name__} whose sign nobody can tell. Wrap it: insdel.attributions(values, "
            f"sign=…). {CHANGED_BY}; ranking=\"absolute\" for importances without a sign."
        )
    if callable(given):
        return given
    raise UserTypeError(f"{label!r} must be a method's name, attributions or a function; found {type(given).__name__}.")


def _fitting(
    f: Model, pairs: Pairs, progress: bool | None
) -> tuple[tuple[str, ...], dict[str, Any], dict[str, dict[str, Any]]]:
    """The methods that fit f, and a line that says which."""
    names: tuple[str, ...] = ANY_MODEL if module_of(f) is None else PAPER_METHODS
    if find_spec("sklearn") is None:
        names = tuple(name for name in names if name != "lime")
    many = int(pairs.differing().sum(axis=1).max()) > MAX_FEATURES
    if many:
        from insdel.tree_pairs import shapley_games

        many = not shapley_games(f, pairs.some([0]))
    if progress is not False:
        sampled = f" (Kernel SHAP from {SAMPLES:,} subsets)" if many else ""
        tqdm.write(f"insdel.compare: no methods named, so {', '.join(names)}{sampled}.")
    return names, {}, {"kernel_shap": {"samples": SAMPLES}} if many else {}


def _matched(f: Model, pairs: Pairs, rows: pd.Index, plan: Plan) -> Plan:
    """Return the plan with the user's attributions in the order of the pairs, each checked against f."""
    own = {label: source for label, source in plan.sources.items() if isinstance(source, Attributions)}
    if not own:
        return plan
    chosen = f.classes(pairs) if isinstance(f, Probability) else None
    fixed = {label: part.for_class(chosen).matched(pairs, rows, label) for label, part in own.items()}
    if isinstance(f, Probability) and f.k is None:
        return replace(plan, sources={**plan.sources, **fixed})
    start, end = ends(f, pairs)
    for label, part in fixed.items():
        check_against(label, part, start, end)
    return replace(plan, sources={**plan.sources, **fixed})


def _unpacked_table(chunk: Chunk) -> pd.DataFrame:
    return replace(chunk, f=unpacked(chunk.f)).table()


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some pairs of a comparison, `first`, `first` + 1, …, and how to score them.

    numbers : (pairs,) of each pair in the whole table; None: `first`, `first` + 1, …
    trees : tree ensembles that were read before, by output
    """

    f: Model
    pairs: Pairs
    first: int
    plan: Plan
    numbers: np.ndarray | None = None
    trees: dict[int, Trees] = field(default_factory=dict)

    @property
    def place(self) -> np.ndarray:
        """Number of each pair in the whole table."""
        return np.arange(self.first, self.first + len(self.pairs)) if self.numbers is None else self.numbers

    def table(self) -> pd.DataFrame:
        """Return the rows of these pairs."""
        if isinstance(self.f, Probability) and self.f.k is None:
            return self._by_class(self.f)
        shared = self._games()
        walks = {label: self._curves(label, shared) for label in self.plan.methods}
        each = [(label, k, mode) for label in walks for k, mode in enumerate(self.plan.modes)]
        rows = [self._rows(walks[label][k], label, mode) for label, k, mode in each]
        table = pd.concat(rows).sort_values("pair", kind="stable", ignore_index=True)
        return self._scored(table, shared)

    def _by_class(self, f: Probability) -> pd.DataFrame:
        """Score the pairs of each predicted class by the probability of that class."""
        chosen = f.classes(self.pairs)
        parts = []
        for k in np.unique(chosen):
            index = np.flatnonzero(chosen == k)
            some = self.pairs.some(index)
            parts.append(replace(self, f=f.of_class(int(k)), pairs=some, numbers=self.place[index]).table())
        return pd.concat(parts).sort_values("pair", kind="stable", ignore_index=True)

    def _rows(self, walks: np.ndarray, label: str, mode: str) -> pd.DataFrame:
        area = np.asarray(abc(walks, mode))
        values = [self.place, label, mode, np.asarray(auc(walks)), area, area / (walks.shape[1] - 1)]
        return pd.DataFrame(dict(zip([c for c in COLUMNS if c not in ("row", "score")], values, strict=True)))

    def _games(self) -> Sequence[Game]:
        """The games of all pairs, if something needs them: they serve all methods and curves.

        Tree ensembles in closed form; else lattices up to 20 differing features, and nothing beyond. Lattices are also
        quicker for a few hybrids, and answer exactly where there is a link.
        """
        exact = self.plan.score or any(self.plan.source(m) == "best" or self.plan.exact(m) for m in self.plan.methods)
        expected = "expected" in map(self.plan.source, self.plan.methods)
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

    def _scored(self, table: pd.DataFrame, shared: Sequence[Game]) -> pd.DataFrame:
        """Add where every area lies between chance and the best order, and what both are."""
        if not self.plan.score:
            return table.assign(score=np.nan, expected=np.nan, best=np.nan, best_is="", scale_from="")
        scale = [self._scale(k, mode, shared) for k in range(len(self.pairs)) for mode in self.plan.modes]
        keys = pd.DataFrame(scale, columns=["pair", "mode", *SCALE])
        wide = table.merge(keys, on=["pair", "mode"], how="left")
        best = np.maximum(wide["best"], wide.groupby(["pair", "mode"])["abc"].transform("max"))
        searched = wide["best_is"] == "search"
        wide["best"] = np.where(searched, best, wide["best"])
        wide["score"] = chance.normalised(wide["abc"].to_numpy(), wide["expected"].to_numpy(), wide["best"].to_numpy())
        return wide

    def _scale(self, k: int, mode: str, shared: Sequence[Game]) -> tuple[Any, ...]:
        """Chance and the best area of a pair: exact from its lattice, else from random orders and a search."""
        if shared:
            game = shared[k]
            if isinstance(game, Lattice):
                best = float(game.abc(game.best_order(mode), mode))
                return self.place[k], mode, game.expected_abc(mode), best, "exact", "hybrids"
            result = _search(game, mode)
            kind = "exact" if result.exact else "search"
            return self.place[k], mode, game.expected_abc(mode), result.area, kind, game.origin
        pair = self.pairs.some([k])
        d = int(pair.differing().sum())
        generator = np.random.default_rng([self.plan.seed, int(self.place[k])])
        half = generator.permuted(np.tile(np.arange(pair.n), (CHANCE_ORDERS // 2, 1)), axis=1)
        walks = pair_curves(self.f, pair, np.concatenate([half, half[:, ::-1]]))
        width = max(4, min(WIDTH, BEAM_SETS // max(d * d, 1)))
        found = pair_beam(self.f, pair, mode, width)
        kind = "exact" if found.exact else "search"
        return self.place[k], mode, float(np.mean(abc(walks, mode))), found.abc, kind, "samples"

    def _curves(self, label: str, shared: Sequence[Game]) -> list[np.ndarray]:
        """Curves of a method's orders, (pairs, n + 1) for each mode: by look-up where there are lattices."""
        if self.plan.source(label) == "expected":
            return [np.stack([np.asarray(lattice.expected_curve()) for lattice in shared])] * len(self.plan.modes)
        return [self._walk(orders, shared) for orders in self._orders(label, shared)]

    def _walk(self, orders: np.ndarray, shared: Sequence[Game]) -> np.ndarray:
        if shared:
            return np.stack([np.asarray(lattice.curve(row)) for lattice, row in zip(shared, orders, strict=True)])
        return pair_curves(self.f, self.pairs, orders)

    def _best(self, k: int, mode: str, shared: Sequence[Game]) -> np.ndarray:
        """The best order of a pair, (n,); if too many features differ, the best that a beam search finds."""
        if shared:
            game = shared[k]
            return np.asarray(game.best_order(mode) if isinstance(game, Lattice) else _search(game, mode).order)
        pair = replace(self.pairs.some([k]), single=True)
        if int(pair.differing().sum()) > MAX_FEATURES:
            return np.asarray(pair_beam(self.f, pair, mode).order)
        return np.asarray(next(pair_lattices(self.f, pair, progress=False)).best_order(mode))

    def _orders(self, label: str, shared: Sequence[Game]) -> list[np.ndarray]:
        """A method's orders, (pairs, n) for each mode."""
        source = self.plan.source(label)
        if source == "best":
            count = range(len(self.pairs))
            return [np.stack([self._best(k, mode, shared) for k in count]) for mode in self.plan.modes]
        values, ranking = self._attributions(label, source, shared), "signed"
        if isinstance(source, Attributions):
            ranking = source.ranking
        modes = self.plan.modes if ranking == "signed" else ("insertion",) * len(self.plan.modes)
        return [np.asarray(order(values, mode)) for mode in modes]

    def _attributions(self, label: str, source: Source, shared: Sequence[Game]) -> np.ndarray:
        """Attributions of these pairs, (pairs, n), in the paper's sign."""
        if isinstance(source, Attributions):
            return source.values[self.place]
        if isinstance(source, str):
            if shared and self.plan.exact(label) and hasattr(shared[0], EXACT[source]):
                return np.stack([np.asarray(getattr(game, EXACT[source])()) for game in shared])
            options = self.plan.method_options(label, self.place)
            return explain_pairs(source, self.f, self.pairs, **options)
        return self._from_function(label, source)

    def _from_function(self, label: str, source: Callable[..., Any]) -> np.ndarray:
        """Attributions from a user's function of f, x and reference (rows of the background, if there is one)."""
        rows = self.pairs.reference if self.pairs.background is None else self.pairs.background
        given = source(self.f, self._as_passed(self.pairs.x), self._as_passed(rows))
        if is_explanation(given) or isinstance(given, Attributions):
            part = given if isinstance(given, Attributions) else attributions(given)
        else:
            part = attributions(given, sign="change")
        return part.for_class(None).matched(self.pairs, pd.RangeIndex(len(self.pairs)), label).values

    def _as_passed(self, rows: Any) -> Any:
        """Rows as the kind of points that the user passed."""
        if self.pairs.columns is not None:
            return self.pairs.columns.frame(to_numpy(rows))
        return rows if is_tensor(self.pairs.template) or not is_tensor(rows) else to_numpy(rows)


def _search(game: TreeGame | LinkedGame, mode: str) -> BestOrder:
    """The best order that trees give: for pairs with up to 20 players the best of all, as by a lattice."""
    return game.search(mode, max_exact=MAX_FEATURES) if game.d <= MAX_FEATURES else game.search(mode)


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
    plan: Plan

    def __repr__(self) -> str:
        methods = ", ".join(self.plan.methods)
        return f"Comparison({len(self.pairs)} pairs, {self.pairs.n} features; {methods})"

    def _repr_html_(self) -> str:
        return str(self.summary().round(3).to_html(index=False))

    @property
    def points(self) -> pd.DataFrame:
        """Which points each pair is made of, (pairs,) row and reference_row: rows with equal values are one point."""
        parts = [self.pairs.x] if self.pairs.background is not None else [self.pairs.x, self.pairs.reference]
        stacked = np.concatenate([part.cpu().numpy() if is_tensor(part) else part for part in parts])
        frame = pd.DataFrame(stacked)
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
        if not self.plan.score:
            return rows
        scores = [self._score(method, mode) for method, mode in zip(rows["method"], rows["mode"], strict=True)]
        rows[["score", "score_se"]] = np.array(scores).reshape(-1, 2)
        kinds = self.scale.groupby("mode")["best_is"].max()  # "search" if any was
        sources = self.scale.groupby("mode")["scale_from"].unique().map(", ".join)
        return rows.assign(best_is=rows["mode"].map(kinds), scale_from=rows["mode"].map(sources))

    def _score(self, method: str, mode: str) -> tuple[float, float]:
        rows = self.table[(self.table["method"] == method) & (self.table["mode"] == mode)].set_index("pair")
        if not len(rows):
            return np.nan, np.nan  # a difference
        scale = self.scale[self.scale["mode"] == mode].set_index("pair").loc[rows.index]
        room = scale["best"] - scale["expected"]
        if not room.sum() > 0:
            return np.nan, np.nan
        return stats.ratio(rows["abc"] - scale["expected"], room, stats.PairIds.of(self.points, rows.index))

    def test(self, a: str, b: str, level: float = 0.95) -> pd.DataFrame:
        """Is a better than b? Difference of the mean ABC, interval, p and p_holm (over the tests), one row per mode."""
        known = list(self.plan.methods)
        for name in (a, b):
            if name not in known:
                raise UserError(f"test needs methods of this comparison: {', '.join(known)}; found {name!r}.")
        rows = []
        for mode in self.plan.modes:
            of_mode = self.table[self.table["mode"] == mode].set_index("pair")
            one, two = (of_mode.loc[of_mode["method"] == name, "abc"] for name in (a, b))
            found = stats.mean_test((one - two).to_numpy(), stats.PairIds.of(self.points, one.index), level)
            rows.append((f"{a} − {b}", mode, *found, len(one)))
        names = ["difference", "mode", "mean", "se", "low", "high", "p", "pairs"]
        result = pd.DataFrame(rows, columns=names)
        return result.assign(p_holm=stats.holm_adjusted(result["p"].to_numpy()))

    def warn_below_chance(self) -> None:
        """Warn of attributions of one's own that rank clearly worse than chance: their sign may be the wrong one."""
        if not self.plan.score:
            return
        for label, source in self.plan.sources.items():
            if isinstance(source, str) or (isinstance(source, Attributions) and source.ranking == "absolute"):
                continue
            scores = [self._score(label, mode) for mode in self.plan.modes]
            if all(value < -2 * (se if se == se else 0.0) and value < -0.05 for value, se in scores):
                warnings.warn(
                    f"{label}: scores {', '.join(f'{v:.2f}' for v, _ in scores)} are clearly below chance (0), so the "
                    f"ranking may be upside down. {CHANGED_BY}.",
                    stacklevel=3,
                )

    def curves(self, row: Any, mode: str = "insertion") -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Curves (n + 1,) and orders (n,) of every method for one row of x, by its index."""
        places = self.table.loc[self.table["row"] == row, "pair"].unique()
        if not len(places):
            known = ", ".join(map(str, self.table["row"].unique()[:10]))
            raise UserError(f"row must be one of x's rows ({known}, …); found {row!r}.")
        pair, plan = int(places[0]), replace(self.plan, modes=(check_mode(mode),), score=False)
        f = self.f.of_class(int(self.f.classes(self.pairs)[pair])) if isinstance(self.f, Probability) else self.f
        chunk = Chunk(f, self.pairs.some([pair]), pair, plan)
        shared, walks, orders = chunk._games(), {}, {}
        for label in self.plan.methods:
            walks[label] = chunk._curves(label, shared)[0][0]
            if self.plan.source(label) != "expected":
                orders[label] = chunk._orders(label, shared)[0][0]
        return walks, orders

    def plot(self, axes: Any = None) -> Any:
        """Draw the scores of all methods and tests with two standard errors; matplotlib axes in, axes out."""
        require("matplotlib", "plot")
        from insdel.comparison_plots import plot_comparison

        return plot_comparison(self, axes)

    def plot_walk(self, row: Any, mode: str = "insertion", axes: Any = None) -> Any:
        """Draw the walks of all methods for one row of x, with the features that each changes first."""
        require("matplotlib", "plot_walk")
        from insdel.comparison_plots import plot_walk

        return plot_walk(self, row, mode, axes)

    def report(self, path: str | Path, title: str = "Does the explanation rank the features well?") -> Path:
        """Write one self-contained HTML page: the answer, its uncertainty, a plot, three walks, the settings."""
        require("matplotlib", "report")
        from insdel.report import write_report

        return write_report(self, Path(path), title)
