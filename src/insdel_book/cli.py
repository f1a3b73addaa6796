"""The command `insdel`: run a chapter, build the book, get data, check the installation."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import tomllib
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from insdel.errors import RunError, UserError
from insdel_book.chapters import find_chapter, list_chapters
from insdel_book.course import clone, find_root
from insdel_book.parameters import check_values, inspect_values, reach

TYPES = {"path": Path, "int": int, "float": float}  # of options, by their names in commands.toml
KEPT = "what was published is untouched; finished chapters and chunks are kept: the same command continues from there"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 all well, 1 a chapter or page failed, 2 misuse."""
    options = parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(_refuse(f"terminated (SIGTERM); {KEPT}", 143)))  # like Ctrl-C
    try:
        return int(options.action(options) or 0)
    except (UserError, FileNotFoundError) as error:
        return _refuse(error, 2)
    except (RunError, OSError) as error:  # also the system's own reason: no room, no right
        return _refuse(error, 1)
    except KeyboardInterrupt:
        return _refuse(f"stopped; {KEPT}", 130)
    except Exception as error:
        traceback.print_exc()
        return _refuse(f"this is a defect of insdel ({type(error).__name__}); please report it with the lines above", 1)


def _refuse(what: Any, code: int) -> int:
    print(f"insdel: {what}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    """A command for each function NAME_command, explained by its docstring; its options: commands.toml."""
    top = argparse.ArgumentParser(prog="insdel", description="Insertion and deletion tests, as a book.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    options = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
    for name, function in globals().items():
        if name.endswith("_command"):
            name, (text, _, more) = name.removesuffix("_command"), function.__doc__.partition("\n\n")
            one = commands.add_parser(name, help=text, description=" ".join(more.split()) or text)
            one.set_defaults(action=function)
            for flags, settings in options.get(name, {}).items():
                if "type" in settings:
                    settings["type"] = TYPES[settings["type"]]
                if isinstance(settings.get("metavar"), list):  # TOML has no tuples
                    settings["metavar"] = tuple(settings["metavar"])
                one.add_argument(*flags.split(), **settings)
    return top


def _need_book_extra() -> None:
    """Refuse early if chapters cannot run."""
    from insdel_book.doctor import missing_packages

    if missing := missing_packages():
        raise UserError(f'needed but missing: {", ".join(missing)}. Install them: pip install "insdel[book]"')


def log(text: str) -> None:
    """Print a line at once, also into a log file."""
    print(text, flush=True)


def run_command(options: argparse.Namespace) -> None:
    """Run one chapter with parameters of your own into runs/."""
    root = clone()
    chapter = find_chapter(list_chapters(root), options.chapter)
    parameters = chapter.parameters()
    if options.list:
        log("\n".join(map(str, parameters.values())))
        return
    values = check_values(parameters, user_values(options))
    inspect_values(parameters, values)
    if values and "evidence" in parameters and "evidence" not in values:
        log("evidence = live: tables and figures show your run; -p evidence recorded shows the recorded full-size one")
        values["evidence"] = "live"
    _need_book_extra()
    from insdel_book.build import run_one
    from insdel_book.space import check_room, fresh_folder

    check_room(root / "build", "run")
    default = root / "runs" / chapter.name / datetime.now().strftime("%Y%m%d-%H%M%S")
    place = options.output.resolve() if options.output else None
    check_room((place or default).parent, "run")
    if place and place.is_file():
        raise UserError(f"{place} is a file; a folder is needed. Name another with -o.")
    if place and (taken := [name for name in ("html", f"{chapter.name}.ipynb") if (place / name).exists()]):
        raise UserError(f"{place} holds {taken[0]} already; runs are never overwritten. Name another with -o.")
    written = run_one(root, chapter, values, lambda: place or fresh_folder(default), options.profile, log)
    log("\n".join(map(str, written)))


def report_command(options: argparse.Namespace) -> None:
    """Grade explanations of your model on your table: one HTML page."""
    try:
        from insdel.own import page
    except ModuleNotFoundError as error:
        raise UserError(f'insdel report needs {error.name}: pip install "insdel[methods]"') from None

    written, notes = page.write(options)
    log("\n".join([*notes, str(written.resolve())]))


def benchmark_command(options: argparse.Namespace) -> None:
    """Score a method of your own on frozen games of many tables and models, beside the known ones."""
    from insdel_book import benchmark

    if options.budget < 2:
        raise UserError(f"--budget needs at least 2 evaluations per feature; found {options.budget}.")
    own = [options.model, options.data, options.target]
    if any(own) and not all(own):
        raise UserError("a table of your own needs --model, --data and --target; at least one is missing.")
    cell = benchmark.own_cell(*own) if all(own) else None
    log("\n".join(benchmark.report(options.entry, cell, options.budget, options.curve, options.seconds)))


def user_values(options: argparse.Namespace) -> dict[str, str]:
    """Return the parameters of the command line, all of them text."""
    given = [*map(tuple, options.parameter), *([("scheduler", options.scheduler)] if options.scheduler else [])]
    if twice := {name for name, _ in given if sum(name == other for other, _ in given) > 1}:
        raise UserError(f"parameter {sorted(twice)[0]!r} is given twice. Give it once; a list is written a,b,c.")
    return dict(given)


def book_command(options: argparse.Namespace) -> None:
    """Run what changed and build the book into build/book."""
    root = find_root()
    listed = list_chapters(root)
    chapters = [find_chapter(listed, text) for text in options.chapters] if options.chapters else None
    if options.jobs is not None and options.jobs < 1:
        raise UserError(f"--jobs needs a whole number of at least 1; found {options.jobs}.")
    _need_book_extra()
    from insdel_book.build import build_book

    log(str(build_book(root, options.profile, chapters, options.jobs, options.force, log)))


def sync_command(options: argparse.Namespace) -> None:
    """Write the .ipynb of every chapter from its .md."""
    _need_book_extra()
    from insdel_book.twins import sync

    root = find_root()
    changed = sync(root, list_chapters(root))
    log("\n".join(f"written: {path.relative_to(root)}" for path in changed) or "every .ipynb is up to date")


def course_command(options: argparse.Namespace) -> None:
    """Write exercise notebooks for students and teachers, and slides for lectures, into build/course.

    Write student/ and teacher/ with exercise notebooks, and slides/ with a deck for each lecture. A deck is made of
    chapters as they ran; those that have changed since the last book or course run first. Open slides/index.html in
    a browser; no network is needed. What is on which slide: course/lectures.yml.
    """
    _need_book_extra()
    from insdel_book.course import load_course
    from insdel_book.slides import build_slides, find_lectures
    from insdel_book.twins import repository_address

    root = find_root()
    find_lectures(root, options.lectures)  # refuses an unknown name before anything is written
    folder = (options.output or root / "build" / "course").resolve()
    written: list[Path] = []
    if options.only != "slides":
        written += load_course("notebooks").write_course(folder, repository_address(root), log)
    if options.only != "notebooks":
        written += build_slides(root, folder / "slides", options.lectures, options.profile, log)
    log("\n".join(map(str, written)))


def data_command(options: argparse.Namespace) -> None:
    """List the data sets, or fetch one: insdel data fetch cern."""
    from insdel_paper import data as datasets

    if options.fetch:
        if options.fetch[0] != "fetch" or len(options.fetch) != 2:
            raise UserError(f"use `insdel data` or `insdel data fetch NAME`; found {' '.join(options.fetch)!r}.")
        log(str(datasets.fetch(options.fetch[1])))
        return
    known = {True: "as published", False: "NOT as published: another hash", None: "hash not on record"}
    for entry in datasets.available():
        real, missing = f"{entry['found']} ({known[entry['sha_ok']]})", f"no file; to get it: {entry['get']}"
        log(f"{entry['name']}: {entry['what']}\n  {f'real: {real}' if entry['found'] else f'simulated: {missing}'}")


def record_command(options: argparse.Namespace) -> int:
    """Carry out a full-size run and write it to results/ (hours; resumable)."""
    from insdel_paper.records import registry

    if options.list or not options.names:
        log("\n".join(registry.describe_runs()))
        return 0
    if options.scheduler:
        reach(options.scheduler)
    how = {"threads": options.threads, "scheduler": options.scheduler, "log": log}
    return 2 if registry.carry_out(options.names, dict(options.parameter), **how) else 0


def claims_command(options: argparse.Namespace) -> int:
    """Derive the verdict on every claim of the paper from the records."""
    from insdel_book.pages.claims import report

    lines, agree = report(options.verdict, options.chapter, options.json, options.state)
    log("\n".join(lines))
    return int(not agree)


def device_command(options: argparse.Namespace) -> int:
    """Check a GPU against the processor, and print a report to send in."""
    from insdel_book.device import report

    return int(not report(options.device, log))


def doctor_command(options: argparse.Namespace) -> int:
    """Check that everything needed is installed; say what to do if not."""
    from insdel_book.doctor import report

    lines, healthy = report(find_root())
    log("\n".join(lines))
    return int(not healthy)


if __name__ == "__main__":
    sys.exit(main())
