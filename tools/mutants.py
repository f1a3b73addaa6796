"""Do the tests notice? `make mutants` changes one operator, number or call at a time and runs the tests of that room.

A seeded sample of all such changes is drawn; each is made in a copy of the repository, so nothing here is touched. A
first run without any change notes which tests run which line, so that a change is tried on those alone, and takes
seconds. A change that no test notices is a hole in the tests, or changes nothing: those that somebody has looked at and
found to change no result stand in tests/mutants.txt, each with its reason, and are not counted. Results are kept in
build/mutants, so the same command goes on where it stopped; --again tries those once more that were not noticed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
FOLDER, EQUIVALENT = ROOT / "build" / "mutants", ROOT / "tests" / "mutants.txt"
TESTS = {
    "insdel": ("library", "own"), "insdel_paper": ("paper",), "insdel_book": ("book", "course", "chapters")
}  # fmt: skip
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
LARGE = (
    "captum.attr", "hypothesis", "lime", "matplotlib.pyplot", "scipy.stats", "seaborn", "shap", "sklearn.ensemble",
    "torch",
)  # fmt: skip
DROPPED = {"abs", "max", "min", "sorted", "clone", "clamp"}  # calls that are replaced by what they are called on


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, and the line before and after it."""

    path: str
    start: int
    stop: int
    text: str
    line: int
    last: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """What it is called in tests/mutants.txt; it survives that lines move."""
        return f"{self.path}: {self.before} → {self.after}"


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    match node:
        case ast.Compare(left, [op], rest) if type(op) in SWAPS:
            yield ast.Compare(left, [SWAPS[type(op)]()], rest)
        case ast.BinOp(left, op, right) if type(op) in SWAPS:
            yield ast.BinOp(left, SWAPS[type(op)](), right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(SWAPS[type(op)](), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Call(ast.Name(name), [first, *_]) if name in DROPPED:
            yield first
        case ast.Call(ast.Attribute(value, name)) if name in DROPPED:
            yield value
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but annotations, and what stands inside strings."""
    for name, part in ast.iter_fields(tree):
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns"):
                yield child
                yield from [] if type(child) is ast.JoinedStr else nodes(child)


def mutants(path: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """Every change of one file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes(ast.parse(source)):
        for new in changed(node):
            place: Any = node
            first, last = starts[place.lineno - 1], starts[place.end_lineno]
            start, stop = first + place.col_offset, starts[place.end_lineno - 1] + place.end_col_offset
            text = f"({ast.unparse(new)})"
            before, after = source[first:last], source[first:start] + text.encode() + source[stop:last]
            lines = [" ".join(part.decode().split()) for part in (before, after)]
            yield Mutant(str(path.relative_to(root)), start, stop, text, place.lineno, place.end_lineno, *lines)


def room_tests(package: str) -> list[str]:
    """The test files of a package's rooms."""
    files = [file for name in TESTS[package] for file in sorted((ROOT / "tests" / name).glob("test_*.py"))]
    return [str(file.relative_to(ROOT)) for file in files]


def trace(tree: Path, package: str, tests: list[str], limit: float) -> CoverageData:
    """Which tests run which line of a package, from a run without any change, which must pass; kept for next time."""
    sources = [path.read_bytes() for path in sorted((tree / "src" / package).rglob("*.py"))]
    key = hashlib.sha256(b"".join([*sources, *map(str.encode, tests)])).hexdigest()[:12]
    path = FOLDER / f"{package}-{key}.coverage"
    if not path.is_file():
        os.environ["COVERAGE_FILE"] = str(path)
        if fails(tree, [*tests, f"--cov={tree / 'src' / package}", "--cov-context=test", "--cov-report="], limit):
            path.unlink(missing_ok=True)
            raise SystemExit(f"the tests of {package} fail without any change; mend them first.")
    data = CoverageData(str(path))
    data.read()
    return data


def tests_of(mutant: Mutant, tree: Path, data: CoverageData, tests: list[str]) -> list[list[str]]:
    """The tests that run a line, those first whose file is called like the module.

    Where none does, as at import or in another process: the tests that run the module at all, then all others.
    """
    path = Path(mutant.path)
    word = path.stem if path.stem != "__init__" else path.parent.name
    by_line = {line: {text.split("|")[0] for text in texts if text}
               for line, texts in data.contexts_by_lineno(str(tree / mutant.path)).items()}  # fmt: skip
    exact = set().union(*(by_line.get(line, set()) for line in range(mutant.line, mutant.last + 1)))
    chosen = sorted(exact or set().union(*by_line.values()), key=lambda test: (word not in test.split("::")[0], test))
    files = {test.split("::")[0] for test in chosen}
    return [part for part in (chosen, [] if exact else [file for file in tests if file not in files]) if part]


def run_tests(tree: Path, tests: list[str]) -> None:
    """Run tests in this process, a copy of one that has imported the large libraries already."""
    os.setsid()
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.path.insert(0, str(tree / "src"))
    sys.dont_write_bytecode = True
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))


def fails(tree: Path, tests: list[str], limit: float) -> bool:
    """Whether these tests fail in a copy of the repository, or take too long."""
    child = multiprocessing.get_context("fork").Process(target=run_tests, args=(tree, tests))
    child.start()
    child.join(limit)
    if child.exitcode is None:
        assert child.pid is not None
        os.killpg(child.pid, signal.SIGKILL)
    return child.exitcode != 0


def noticed(mutant: Mutant, tree: Path, parts: list[list[str]], limit: float) -> bool:
    """Whether the tests fail with the change."""
    target = tree / mutant.path
    source = target.read_bytes()
    target.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.stop :])
    try:
        return any(fails(tree, tests, limit) for tests in parts)
    finally:
        target.write_bytes(source)


def equivalent() -> set[str]:
    """Changes that were looked at and change no result: what stands before the first tab of a line."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.is_file() else []
    return {line.split("\t")[0] for line in lines if line and not line.startswith("#")}


def copy(tree: Path) -> None:
    """Copy what git knows, and changes to it."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)


def show(results: pd.DataFrame) -> None:
    """Print the table by room, and what nobody noticed."""
    known = equivalent()
    left = results[~results["key"].isin(known)]
    table = left.groupby("room")["noticed"].agg(mutants="size", noticed="sum")
    table.loc["all"] = table.sum()
    table["share"] = (table["noticed"] / table["mutants"]).map("{:.0%}".format)
    print(f"\n{table.to_string()}\n{len(results) - len(left)} that change nothing are not counted")
    for row in left[~left["noticed"]].itertuples():
        print(f"not noticed: {row.path}:{row.line}\n  - {row.before}\n  + {row.after}")


def main() -> None:
    """Draw, try, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", default="insdel", choices=TESTS)
    parser.add_argument("--under", default="", help="only files whose path contains this")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600, help="begin no further mutant after this time")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a mutant counts as noticed")
    parser.add_argument("--tests", nargs="+", help="these files only, instead of the package's rooms")
    parser.add_argument("--again", action="store_true", help="try those once more that were not noticed")
    given = parser.parse_args()
    files = [p for p in sorted((ROOT / "src" / given.package).rglob("*.py")) if given.under in str(p.relative_to(ROOT))]
    every = [mutant for path in files for mutant in mutants(path)]
    chosen = random.Random(given.seed).sample(every, min(given.count, len(every)))
    log, tree, start = FOLDER / f"{given.package}.jsonl", FOLDER / given.package, time.monotonic()
    copy(tree)
    for name in LARGE:
        importlib.import_module(name)
    tests = given.tests or room_tests(given.package)
    data = trace(tree, given.package, tests, 4 * given.limit)
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    known = {row["key"]: row for row in rows if row["noticed"] or not given.again}
    for mutant in chosen:
        if mutant.key in known or mutant.key in equivalent() or time.monotonic() - start > given.seconds:
            continue
        room = "/".join(Path(mutant.path).parts[1:-1])
        known[mutant.key] = asdict(mutant) | {"key": mutant.key, "room": room}
        known[mutant.key]["noticed"] = noticed(mutant, tree, tests_of(mutant, tree, data, tests), given.limit)
        with log.open("a") as file:
            file.write(json.dumps(known[mutant.key]) + "\n")
        print("noticed" if known[mutant.key]["noticed"] else "NOT NOTICED", mutant.key, flush=True)
    show(pd.DataFrame([known[m.key] for m in chosen if m.key in known]))


if __name__ == "__main__":
    main()
