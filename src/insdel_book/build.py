"""The book: run the chapters that changed, stage them, typeset, and only then replace the old book."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import yaml

from insdel.errors import RunError
from insdel_book.cache import chapter_key, code_hash, run_facts
from insdel_book.chapters import Chapter, list_chapters, profile_values, read_yaml, toc_files
from insdel_book.jobs import Job, Log, run_jobs
from insdel_book.pages import status_page
from insdel_book.run import refuse_warnings
from insdel_book.space import check_room, only_one, scratch
from insdel_book.twins import fill_address, last_commit, repository_address

ELSEWHERE = re.compile(r"undefined label|unknown document|label '.*' not found")  # a reference without its target
REASON = re.compile(r"(?:\w*Error: )?\[Errno \d+\][^\n]*|MemoryError[^\n]*")


class BuildError(RunError):
    """Jupyter Book refused the pages; the message holds its warnings and errors."""


def build_book(
    root: Path, profile: str = "quick", chapters: Iterable[Chapter] | None = None, jobs: int | None = None,
    force: bool = False, log: Log = print,
) -> Path:  # fmt: skip
    """Run the chapters, build the pages and return the path of `index.html`.

    The whole book goes to `build/book` once all of it has succeeded. With a choice of `chapters`, a draft of
    those alone goes to `build/draft`: references to chapters left out are then no error.
    """
    wanted = list(chapters) if chapters is not None else list_chapters(root)
    values = {chapter.name: profile_values(root, chapter, profile) for chapter in wanted}
    folder, strict = root / "build", chapters is None
    check_room(folder, "book")
    with only_one(folder):
        executed = run_chapters(root, wanted, values, profile, jobs=jobs, force=force, log=log)
        for name, path in executed.items():
            refuse_warnings(name, nbformat.read(path, as_version=4))
        stage(root, executed, folder / "stage")
        log("building the pages …")
        pages = typeset(folder, strict=strict, log=log)
        return publish(pages, folder / ("book" if strict else "draft")) / "index.html"


def run_one(
    root: Path, chapter: Chapter, given: Mapping[str, Any], output: Callable[[], Path], profile: str, log: Log
) -> tuple[Path, Path]:
    """Run one chapter with new parameter values; return its notebook and its page.

    given : checked; they win over what the profile sets
    output : makes the folder that both go to, once there is something to put there
    """
    values = profile_values(root, chapter, profile) | dict(given)
    if "path" in given and "source" not in given:  # a file of the user's is real data, whatever the profile would take
        values.pop("source", None)
    label = f"{profile}, changed" if given else profile
    executed = run_chapters(root, [chapter], {chapter.name: values}, label, force=True, log=log)
    with scratch(root / "build") as work:  # several may run at a time
        stage(root, executed, work / "stage")
        pages = typeset(work, strict=False, log=log)
        folder = output()
        folder.mkdir(exist_ok=True)
        notebook = folder / f"{chapter.name}.ipynb"
        shutil.copyfile(work / "stage" / "notebooks" / notebook.name, notebook)
        return notebook, publish(pages, folder / "html") / "notebooks" / f"{chapter.name}.html"


def run_chapters(
    root: Path, chapters: Iterable[Chapter], values: Mapping[str, Mapping[str, Any]], profile: str,
    jobs: int | None = None, force: bool = False, log: Log = print,
) -> dict[str, Path]:  # fmt: skip
    """Return the executed notebook of each chapter, from the cache where nothing has changed."""
    folder, paths, todo = root / "build" / "cache", {}, []
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in chapters:
        key = chapter_key(chapter, values[chapter.name], root)
        path = paths[chapter.name] = folder / f"{chapter.name}-{key}.ipynb"
        facts = run_facts(path) if path.is_file() else {}
        if facts is None:
            log(f"{path.name} in the cache is damaged: dropped, its chapter runs again")
        elif facts and not force and facts["code"] == code_hash(root, facts["modules"]):
            log(f"{chapter.name}: unchanged")
            continue
        todo.append(Job(chapter, values[chapter.name], profile, path))
    run_jobs(todo, jobs, log)
    return paths


def stage(root: Path, executed: Mapping[str, Path], folder: Path) -> None:
    """Make a tree with the repository's layout that holds what the pages are built from, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "book", folder / "book")
    (folder / "notebooks").mkdir()
    address, commit, facts = repository_address(root), last_commit(root), {}
    for name, path in executed.items():
        notebook = fill_address(nbformat.read(path, as_version=4), address, commit)
        facts[name] = notebook.metadata["insdel"]
        nbformat.write(notebook, folder / "notebooks" / f"{name}.ipynb")
    (folder / "book" / "status.md").write_text(status_page(facts), encoding="utf-8")
    toc, config = (read_yaml(root / name) for name in ("_toc.yml", "_config.yml"))
    if "book/claims" in set(toc_files(toc)):
        from insdel_book.pages.derive import write_pages  # the checks need most of the package

        write_pages(root, folder, sorted(executed))
    for key, options in launch_options(address).items():
        config[key] = config.get(key, {}) | options
    write_yaml(folder / "_config.yml", config)
    write_yaml(folder / "_toc.yml", keep_files(toc, folder))


def write_yaml(path: Path, what: Any) -> None:
    """Write a file for Jupyter Book."""
    path.write_text(yaml.safe_dump(what, allow_unicode=True), encoding="utf-8")


def keep_files(toc: Any, folder: Path) -> Any:
    """Return the table of contents without the chapters that were not staged."""
    for part in {"parts", "chapters", "sections"} & set(toc):
        children = [keep_files(child, folder) for child in toc[part]]
        toc[part] = [child for child in children if any(any(folder.glob(f"{file}.*")) for file in toc_files(child))]
    return toc


def launch_options(address: str | None) -> dict[str, dict[str, Any]]:
    """Return the settings of the buttons that lead to GitHub, Binder and Colab; none without an address."""
    if not address:
        return {}
    return {
        "repository": {"url": address, "branch": os.environ.get("INSDEL_BRANCH", "main"), "path_to_book": ""},
        "launch_buttons": {"notebook_interface": "jupyterlab", "binderhub_url": "https://mybinder.org",
                           "colab_url": "https://colab.research.google.com"},
        "html": {"use_repository_button": True, "use_issues_button": True},
    }  # fmt: skip


def typeset(folder: Path, strict: bool, log: Log = print, builder: str = "html") -> Path:
    """Run Jupyter Book, with a builder of Sphinx, on the staging tree `folder/stage`; return the folder of the pages.

    `strict` turns every warning into an error; otherwise warnings are shown, references that lead out of it counted.
    """
    source, work, output = folder / "stage", folder / "work", folder / "jupyter-book.log"
    shutil.rmtree(work, ignore_errors=True)
    program = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "build", str(source), "--path-output", str(work), "--all"]
    command += ["--builder", "custom", "--custom-builder", builder] if builder != "html" else []
    command += ["-n", "-W", "--keep-going"] if strict else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    output.write_text(done.stdout + done.stderr, encoding="utf-8")
    remarks = re.sub(r"\x1b\[[\d;]*m", "", done.stderr).replace(f"{source}{os.sep}", "")
    problems = [line for line in remarks.splitlines() if "WARNING" in line or "ERROR" in line]
    if done.returncode:
        first = list(dict.fromkeys(REASON.findall(done.stdout + remarks)))  # the system's own reason, if it gave one
        raise BuildError("\n".join([*first, *(problems or remarks.splitlines()[-20:]), f"(all of it: {output})"]))
    known = [line for line in problems if not ELSEWHERE.search(line)]
    for line in known:
        log(line)
    if count := len(problems) - len(known):
        log(f"{count} references to chapters that are not part of this build are plain text in it")
    return work / "_build" / builder


def publish(pages: Path, target: Path) -> Path:
    """Put the new pages in place of the old ones by renaming: nobody ever sees a half-built book."""
    mathjax = pages / "_static" / "mathjax"  # two thirds of it no page loads: other bundles, other outputs
    for path in {*mathjax.glob("*.js"), mathjax / "output" / "svg.js"} - {mathjax / "tex-chtml.js"}:
        path.unlink(missing_ok=True)
    for name in ("adaptors", "output/svg"):
        shutil.rmtree(mathjax / name, ignore_errors=True)
    old = target.with_name(target.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.rename(old)
    shutil.move(pages, target)  # a rename, unless a reader's own folder lies on another disk
    shutil.rmtree(old, ignore_errors=True)
    return target
