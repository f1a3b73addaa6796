"""The GitHub workflow does what it promises, with targets, folders and variables that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from conftest import ROOT

from insdel_book.build import launch_options, stage
from insdel_book.cli import parser
from insdel_book.twins import repository_address

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8"))
JOBS = WORKFLOW["jobs"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def action(job: str, name: str) -> dict[str, Any]:
    return next(step for step in JOBS[job]["steps"] if step.get("uses", "").startswith(f"actions/{name}@"))


def test_it_runs_on_changes_weekly_and_by_hand() -> None:
    triggers = WORKFLOW["on"]
    assert set(triggers) == {"push", "pull_request", "schedule", "workflow_dispatch"}
    [weekly] = triggers["schedule"]
    minute, hour, day, month, weekday = weekly["cron"].split()
    assert (day, month) == ("*", "*") and 0 <= int(minute) < 60 and 0 <= int(hour) < 24 and 0 <= int(weekday) < 7


def test_it_makes_only_what_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    made = {run.removeprefix("make ") for job in JOBS for run in (commands(job) if "steps" in JOBS[job] else [])
            if run.startswith("make ")}  # fmt: skip
    assert {"book", "test"} <= made <= targets
    for job in JOBS:
        for run in commands(job):
            if run.startswith(".venv/bin/insdel"):
                parser().parse_args(shlex.split(run)[1:])


def test_warnings_are_errors() -> None:
    recipe = re.search(r"^book:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe and "insdel book" in recipe[1] and "--chapters" not in recipe[1]  # the whole book: strict
    assert '"-n", "-W", "--keep-going"' in (ROOT / "src" / "insdel_book" / "build.py").read_text(encoding="utf-8")


def test_it_publishes_only_what_passed_and_only_from_main() -> None:
    publish = JOBS["publish"]
    assert set(publish["needs"]) == {"test", "book"}
    assert "refs/heads/main" in publish["if"] and "pull_request" in publish["if"]
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert publish["environment"]["name"] == "github-pages" and action("publish", "deploy-pages")
    assert action("book", "upload-pages-artifact")["with"]["path"] == "build/book"


def test_launch_links_are_those_of_the_fork(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    values = {"${{ github.repository }}": "someone/fork", "${{ github.ref_name }}": "main"}
    for name, value in JOBS["book"]["env"].items():
        monkeypatch.setenv(name, values[value])
    address = repository_address(tmp_path)
    assert address == "https://github.com/someone/fork"
    assert launch_options(address)["repository"] == {"url": address, "branch": "main", "path_to_book": ""}


def test_executed_notebooks_are_attached_from_where_the_build_puts_them(tiny_book: Path) -> None:
    attached = action("book", "upload-artifact")["with"]
    assert attached["if-no-files-found"] == "error"
    notebook = nbformat.v4.new_notebook()
    facts = {"profile": "quick", "parameters": {}, "recorded": {}, "seconds": 1.0, "date": "2026-01-01",
             "versions": {}, "hardware": "a machine"}  # fmt: skip
    notebook.metadata["insdel"] = facts
    executed = tiny_book / "01_add-key.ipynb"
    nbformat.write(notebook, executed)
    stage(tiny_book, {"01_add": executed}, tiny_book / "build" / "stage")
    assert [path.name for path in (tiny_book / attached["path"]).iterdir()] == ["01_add.ipynb"]


def test_python_and_the_lock_are_those_of_the_project() -> None:
    for job in ("test", "book"):
        setup = action(job, "setup-python")["with"]
        assert setup["python-version"] == "3.11" and (ROOT / setup["cache-dependency-path"]).is_file()
        assert JOBS[job]["timeout-minutes"] <= 120
