"""The files around the package agree with each other, and the README's example prints what it says."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from insdel_book import doctor

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = {
    canonicalize_name(line.split("==")[0]): line.split("==")[1]
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line and not line.startswith("#")
}
CARRIERS = PROJECT["optional-dependencies"]["tables"]  # wheels that only carry rows: pinned here, never in the lock
REQUIREMENTS = [
    Requirement(text)
    for group in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    if group is not CARRIERS
    for text in group
    if not text.startswith("insdel[")
]


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_the_lock_holds_every_dependency_within_its_range(requirement):
    assert requirement.specifier.contains(LOCK[canonicalize_name(requirement.name)])


def test_the_lock_is_exact_and_the_same_on_every_machine():
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in LOCK.values())
    assert LOCK["torch"] == doctor.TORCH


def test_environment_yml_is_in_step():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python = next(d for d in environment["dependencies"] if str(d).startswith("python="))
    assert PROJECT["requires-python"] == ">=" + python.removeprefix("python=")
    pip = next(d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
    assert pip == ["-r requirements.lock", "-e ."]


def test_every_dependency_is_justified():
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## Why each dependency")[1]
    for requirement in REQUIREMENTS:
        assert re.search(rf"\b{re.escape(requirement.name)}\b", table), f"{requirement.name} needs its line"


def test_the_readme_example_prints_what_the_readme_says():
    readme = (ROOT / "README.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```\n```text\n(.*?)```", readme, re.DOTALL).groups()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == printed


def test_the_readme_fits_a_screen_and_names_only_what_exists():
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 45
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`", readme)) <= targets
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (ROOT / link).exists(), link


def test_versions_agree():
    import insdel

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert insdel.__version__ == PROJECT["version"] == citation["version"]


def test_the_first_figure_is_what_the_code_draws(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import first_figure

    first_figure.write(tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert drawn == first_figure.PATH.read_text(), "run python tools/first_figure.py"


def test_the_game_of_the_home_page_is_what_the_code_deals(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import home_board

    assert home_board.home_board() + "\n" == home_board.PATH.read_text(), "run python tools/home_board.py"


def test_the_readme_command_re_runs_a_chapter(tmp_path):
    command = re.search(r"`\.venv/bin/insdel (run [^`]+)`", (ROOT / "README.md").read_text())[1].split()
    run = [sys.executable, "-m", "insdel_book.cli", *command, "--profile", "smoke", "-o", str(tmp_path / "run")]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True)
    assert list((tmp_path / "run").rglob("*.ipynb")) and list((tmp_path / "run").rglob("index.html"))


def test_public_names_need_one_import_only():
    names = ["insdel_paper.data.load", "insdel.policies.counterfactual", "insdel.policies.one_to_one",
             "insdel.policies.average", "insdel_paper.table", "insdel_paper.claims.all_claims",
             "insdel_paper.networks.fit", "insdel_paper.theory.theorem_1", "insdel.Lattice.evaluate",
             "insdel.explain", "insdel.compare", "insdel.summary"]  # fmt: skip
    code = "import insdel\nimport insdel_paper\n" + "\n".join(names)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_entry_of_the_references_is_cited_and_every_citation_has_an_entry():
    keys = re.findall(r"^@\w+\{([^,]+),", (ROOT / "book" / "references.bib").read_text(), re.MULTILINE)
    pages = [*(ROOT / "book").glob("*.md"), *(ROOT / "notebooks").glob("[0-9]*.md")]
    groups = [found for page in pages for found in re.findall(r"\{cite(?::[a-z]+)?\}`([^`]+)`", page.read_text())]
    assert len(keys) == len(set(keys)), "an entry stands twice"
    assert set(keys) == {key.strip() for group in groups for key in group.split(",")}
