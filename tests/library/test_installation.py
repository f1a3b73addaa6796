"""The library by itself: with nothing but its own dependencies it computes what it computes beside torch."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import insdel
from insdel.errors import UserError, require

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ["torch", "captum", "lime", "shap", "sklearn", "matplotlib", "seaborn", "pyarrow", "sympy"]
METHODS = ["kernel_shap", "two_sided", "occlusion", "banzhaf", "shapley_sampling", "greedy", "random", "best", "expected"]
SCRIPT = """
import sys
sys.modules.update(dict.fromkeys({extras}))  # as if they were not installed
import numpy as np, pandas as pd, insdel

rng = np.random.default_rng(0)
weights = rng.normal(size=(14, 3))
x, reference = rng.normal(size=(2, 4, 14))
x[:, :3] = reference[:, :3]

def f(z):
    return np.abs(np.asarray(z) @ weights).sum(axis=1)

columns = [f"c{{j}}" for j in range(14)]
tables = [
    insdel.compare(f, x, reference, {methods}, progress=False).table,
    insdel.compare(f, pd.DataFrame(x, columns=columns), background=reference, groups={{"g": ["c0", "c5"]}},
                   methods=["kernel_shap", "two_sided"], progress=False).table,
    insdel.compare(f, x, reference, {{"sampled": "kernel_shap"}}, options={{"sampled": {{"samples": 200}}}}, score=False,
                   progress=False).table,
]
lattice = insdel.Lattice.evaluate(f, x[0], reference[0])
pairs = insdel.policies.counterfactual(f, np.vstack([x, reference]), at_least=12)
more = [lattice.shapley(), lattice.best_order(), insdel.chance.moments(lattice), pairs.reference_index,
        insdel.curve(f, x, reference, np.arange(14)).ravel(), insdel.beam_order(f, x[0], reference[0]).order]
tables.append(pd.DataFrame({{"number": np.concatenate(more)}}))
for table in tables:
    print(table.to_json(orient="split", double_precision=15))
"""


def tables(text: str) -> list[pd.DataFrame]:
    return [pd.read_json(io.StringIO(line), orient="split") for line in text.splitlines()]


def test_without_torch_and_the_other_extras_the_numbers_are_the_same():
    found = []
    for extras in (EXTRAS, []):
        script = SCRIPT.format(extras=extras, methods=METHODS) if extras else "import torch\n" + SCRIPT.format(
            extras=[], methods=METHODS)  # fmt: skip
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(tables(done.stdout))
    for without, with_torch in zip(*found, strict=True):
        pd.testing.assert_frame_equal(without, with_torch, rtol=1e-12)
        assert len(without)


def test_importing_the_library_loads_neither_torch_nor_plots():
    code = "import sys, insdel; insdel.compare, insdel.Lattice, insdel.explain, insdel.policies\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "matplotlib", "sklearn", "captum", "lime", "shap"} & set(done.stdout.split())


def test_what_is_not_installed_is_named(monkeypatch):
    f, (x, reference) = (lambda z: z.sum(axis=1)), np.random.default_rng(0).normal(size=(2, 3, 4))
    for package, method, options in (
        ("sklearn.linear_model", "lime", {}), ("lime.lime_tabular", "lime_tabular", {"background": x}),
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(UserError, match=r"needs .* not installed: pip install 'insdel\[methods\]'"):
            insdel.explain(method, f, x, reference, **options)
    with pytest.raises(UserError, match="this test needs nonsense, which is not installed"):
        require("nonsense", "this test")


@pytest.mark.slow
def test_the_wheel_alone_in_an_empty_environment(tmp_path):
    """Builds the wheel, installs it with what it depends on, and runs a comparison; skipped where pip has no network."""
    clone = tmp_path / "clone"  # setuptools leaves what it builds beside the sources
    shutil.copytree(ROOT / "src", clone / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(tmp_path), str(clone)]
    subprocess.run(wheel, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "-q", *map(str, tmp_path.glob("insdel*.whl"))]
    if subprocess.run(install, capture_output=True, check=False, env=environment).returncode:
        pytest.skip("pip cannot install here")
    script = SCRIPT.format(extras=[], methods=METHODS)
    done = subprocess.run([str(python), "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert len(tables(done.stdout)) == 4
    size = sum(path.stat().st_size for path in (tmp_path / "venv").rglob("*") if path.is_file())
    assert size < 340e6, f"{size / 1e6:.0f} MB, pip and setuptools included"
