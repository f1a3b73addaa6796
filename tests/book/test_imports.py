"""What may import what, and what a bare import loads."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from conftest import ROOT

HEAVY = {"torch", "matplotlib", "pandas", "sympy", "scipy", "captum", "shap", "papermill", "sklearn"}


def loaded(code: str) -> set[str]:
    """Which top-level modules a fresh process has loaded after running this code."""
    show = "import sys; print(' '.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import insdel",
        "from insdel.book import cli\ntry:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    assert not loaded(code) & HEAVY


def test_the_library_loads_no_tool_of_the_book_or_the_theory() -> None:
    code = "import insdel\nfor name in dir(insdel):\n    name == 'paper' or getattr(insdel, name)"
    assert not loaded(code) & {"papermill", "jupytext", "sympy", "IPython", "nbformat", "optuna"}


def test_importing_a_module_does_not_hide_the_function_of_that_name() -> None:
    code = "import insdel.comparison, insdel.curves, insdel.lattice, insdel, inspect\n" \
           "assert inspect.isfunction(insdel.compare) and inspect.isfunction(insdel.curve)"  # fmt: skip
    loaded(code)


def test_no_chapter_imports_a_private_name() -> None:
    private = []
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.md")):
        for block in path.read_text(encoding="utf-8").split("```{code-cell}")[1:]:
            lines = block.split("```")[0].splitlines()
            private += [f"{path.name}: {line}" for line in lines if "import" in line and " _" in line and "insdel" in line]
    assert not private


def test_imports_inside_functions_hide_no_cycle() -> None:
    """A module that is imported inside a function of another room's module would be allowed at its top, too."""
    import grimp

    graph = grimp.build_graph("insdel")
    rank = {"book": 3, "own": 2, "course": 2, "paper": 1}
    for path in sorted((ROOT / "src" / "insdel").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        lazy = [
            node
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("insdel")
        ]
        for node in lazy:
            assert node.module is not None
            theirs, ours = (name.split(".")[1] if "." in name else "" for name in (node.module, module))
            assert rank.get(theirs, 0) <= rank.get(ours, 0), f"{module} imports {node.module}"
            if node.module in graph.modules:
                assert not graph.chain_exists(node.module, module), f"{module} ⇄ {node.module}"
