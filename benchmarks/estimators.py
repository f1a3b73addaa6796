"""Sampled Shapley values at equal budgets: insdel, shap and the approximators of shapiq, on the paper's networks.

`make race` runs all of it and records it as results/estimators; `--quick` is a rehearsal. The games are looked
up in lattices that were evaluated once, so that errors are known exactly and times are those of the estimators alone.
The constants of this package's estimator were set on the first eight pairs of each kind; those after them are raced.

No version of shapiq has all of its approximators: 1.4.1 is the newest for Python 3.11 and the last with kADDSHAP.
Who is not there is left out, and joins when the same command runs once more with Python 3.12 and a newer shapiq
(1.8.0 has LeverageSHAP, OddSHAP, PolySHAP and two that fit trees). SPEX and ProxySPEX take minutes for a pair;
ShaplEIG comes without code.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import shap
import torch
from shapiq import approximator

import insdel
from insdel.attribution import Estimate, odd
from insdel.identity import short_hash
from insdel.store import Store
from insdel_paper import networks, results
from insdel_paper.records.run import Clock
from insdel_paper.studies.experiments import load, pair

ROOT = Path(__file__).resolve().parents[1]
Game = Callable[[np.ndarray], np.ndarray]  # (m, d) booleans, who comes from the reference → (m,)
Estimator = Callable[[Game, int, int, int], np.ndarray]  # game, players, budget, seed → (d,)
RACES = [("cern", "counterfactual"), ("cern", "one_to_one"), ("cern", "average"),
         ("bangalore", "counterfactual"), ("bangalore", "one_to_one")]  # fmt: skip

NETWORKS = {"cern": "cern_genuine_counterfactual", "bangalore": "bangalore"}  # records of networks


@dataclass(frozen=True)
class Size:
    """How much is raced: pairs of each kind, after as many that are passed over; seeds; budgets.

    least, most : features that differ, so that there is something left to estimate, and an exact value
    """

    pairs: int = 12
    passed: int = 8
    seeds: int = 2
    budgets: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)
    least: int = 13
    most: int = 17


def by_shap(game: Game, d: int, budget: int, seed: int) -> np.ndarray:
    """Estimate with shap's KernelExplainer, which evaluates both ends besides its samples."""
    np.random.seed(seed)  # noqa: NPY002  (what shap draws from)
    explainer = shap.KernelExplainer(lambda z: game(z > 0.5), np.zeros((1, d)))
    return explainer.shap_values(np.ones(d), nsamples=budget - 2, l1_reg=False, silent=True)


def by_shapiq(name: str, **options: object) -> Estimator:
    """Return an approximator of shapiq; its values of first order are Shapley values."""

    def estimate(game: Game, d: int, budget: int, seed: int) -> np.ndarray:
        found = getattr(approximator, name)(n=d, random_state=seed, **options)
        return found.approximate(budget, game).get_n_order_values(1)

    return estimate


def by_insdel(game: Game, d: int, budget: int, seed: int) -> Estimate:
    """Estimate with this package; the errors come along."""
    return insdel.estimate_shapley(lambda z: game(z > 0.5), np.zeros(d), np.ones(d), budget, seed=seed)


PAIRED = {"pairing_trick": True}
PEERS: dict[str, Estimator] = {
    "shap KernelExplainer": by_shap,
    "shapiq KernelSHAP": by_shapiq("KernelSHAP"),
    "shapiq KernelSHAP, paired": by_shapiq("KernelSHAP", **PAIRED),
    "shapiq kADDSHAP, order 2": by_shapiq("kADDSHAP", max_order=2),
    "shapiq kADDSHAP, order 2, paired": by_shapiq("kADDSHAP", max_order=2, **PAIRED),
    "shapiq kADDSHAP, order 3": by_shapiq("kADDSHAP", max_order=3),
    "shapiq kADDSHAP, order 3, paired": by_shapiq("kADDSHAP", max_order=3, **PAIRED),
    "shapiq SVARM": by_shapiq("SVARM"),
    "shapiq UnbiasedKernelSHAP": by_shapiq("UnbiasedKernelSHAP"),
    "shapiq PermutationSamplingSV": by_shapiq("PermutationSamplingSV"),
    "shapiq StratifiedSamplingSV": by_shapiq("StratifiedSamplingSV"),
    "shapiq OwenSamplingSV": by_shapiq("OwenSamplingSV"),
    "shapiq LeverageSHAP": by_shapiq("LeverageSHAP"),
    "shapiq OddSHAP": by_shapiq("OddSHAP"),
    "shapiq PolySHAP, order 2": by_shapiq("PolySHAP", max_order=2),
    "shapiq PolySHAP, order 2, paired": by_shapiq("PolySHAP", max_order=2, **PAIRED),
    "shapiq PolySHAP, order 3": by_shapiq("PolySHAP", max_order=3),
    "shapiq PolySHAP, order 3, paired": by_shapiq("PolySHAP", max_order=3, **PAIRED),
    "shapiq ProxySHAP": by_shapiq("ProxySHAP", max_order=1, index="SV", adjustment=True),
    "shapiq RegressionMSR": by_shapiq("RegressionMSR", index="SV"),
}


def is_here(who: str) -> bool:
    """Tell whether the installed shapiq has this contestant."""
    library, name = f"{who} ".replace(",", "").split(" ")[:2]
    return library != "shapiq" or hasattr(approximator, name)


def lookup(lattice: insdel.Lattice) -> Game:
    """Return the game of a pair from its lattice."""
    bits, values = 1 << np.arange(lattice.d), np.asarray(lattice.values)
    return lambda masks: values[np.atleast_2d(np.asarray(masks, dtype=bool)) @ bits]


def lattices_of(data: str, policy: str, size: Size) -> list[insdel.Lattice]:
    """Lattices of the recorded network, for the first held-out pairs that differ in as many features as asked for."""
    model = networks.load(results.network(NETWORKS[data]))
    pairs = pair(load(data), model, policy)
    d = (pairs.x != pairs.reference).sum(axis=1)
    chosen = np.flatnonzero((size.least <= d) & (d <= size.most))[size.passed :][: size.pairs]
    return list(insdel.lattices(model, pairs.x[chosen], pairs.reference[chosen], progress=False))


def errors(who: str, lattices: list[insdel.Lattice], budget: int, size: Size) -> Iterator[dict]:
    """Relative squared error of one contestant at one budget, by pair and seed; nothing where it cannot run."""
    library = "insdel" if who == "insdel" else who.split(" ")[0]
    about = {"who": who, "budget": budget, "version": version(library)}
    for number, lattice in enumerate(lattices):
        exact, game = np.asarray(lattice.shapley())[list(lattice.players)], lookup(lattice)
        for seed in range(size.seeds if budget < 2**lattice.d else 0):
            start = time.process_time()  # of this process alone: others may be at work beside it
            try:
                found = (by_insdel if who == "insdel" else PEERS[who])(game, lattice.d, budget, seed)
            except (ValueError, ImportError) as reason:  # too small a budget, or trees that are not installed
                yield {**about, "pair": number, "seed": seed, "why": str(reason)[:120]}
                return
            seconds = time.process_time() - start
            values = found.values if who == "insdel" else found
            row = {**about, "pair": number, "seed": seed, "d": lattice.d, "seconds": seconds}
            row["error"] = float(((values - exact) ** 2).sum() / (exact**2).sum())
            if who == "insdel":
                row["inside"] = float((np.abs(values - exact) <= 1.96 * found.error).mean())
            yield row


def race(size: Size, folder: Path | None, only: int | None = None) -> pd.DataFrame:
    """Race everyone at every budget; a race that was killed goes on from its last finished part."""
    parts = []
    for number, (data, policy) in enumerate(RACES[:only]):
        code = short_hash(Path(odd.__file__).read_bytes() + Path(__file__).read_bytes())
        identity = {**asdict(size), "data": data, "policy": policy, "code": code}
        store = Store(folder and folder / f"{data}_{policy}", lambda identity=identity: identity)
        plan = [(who, budget) for budget in size.budgets for who in ("insdel", *PEERS)]
        missing = [k for k, (who, _) in enumerate(plan) if not store.has(k) and is_here(who)]
        lattices = lattices_of(data, policy, size) if missing else []
        for k in missing:
            who, budget = plan[k]
            store.put(k, pd.DataFrame(list(errors(who, lattices, budget, size))))
        part = pd.concat([store.get(k) for k in range(len(plan)) if store.has(k)], ignore_index=True)
        parts.append(part.assign(data=data, policy=policy))
        print(f"{number + 1} of {len(RACES)}: {data}, {policy}")
        show(parts[-1])
    return pd.concat(parts, ignore_index=True)


def show(table: pd.DataFrame) -> None:
    """Print errors, how many times smaller than the best peer's ours are, and how well our errors are calibrated."""
    found = table.pivot_table("error", "who", "budget", sort=False)
    peers = found.drop(index="insdel")
    print(found.map(lambda e: f"{e:.2g}").to_string())
    print("best peer / insdel:", (peers.min() / found.loc["insdel"]).round(1).to_dict())
    print("by whom:", peers.idxmin().to_dict())
    print(
        "inside 95 %:",
        table[table["who"] == "insdel"].groupby("budget")["inside"].mean().round(3).to_dict(),
        flush=True,
    )


def main() -> None:
    """Run, print, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rehearsal in small; nothing is recorded")
    parser.add_argument("--only", type=int, help="the first races only, to do the work in pieces; nothing is recorded")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    size = Size(2, 1, 1, (64, 256)) if arguments.quick else Size()
    clock = Clock(ROOT / "build" / "records" / ("estimators_quick" if arguments.quick else "estimators"))
    table = race(size, clock.folder / "parts", arguments.only)
    if not arguments.quick and not arguments.only:
        threads = {"threads": torch.get_num_threads()}
        facts = {
            "command": "make race",
            "parameters": {**asdict(size), **threads},
            "seconds": round(clock.seconds(), 1),
        }
        results.save("estimators", {"errors": table}, {**facts, "data": "genuine events and houses"})


if __name__ == "__main__":
    main()
