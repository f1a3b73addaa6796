"""The command `insdel`: run a chapter, build the book, get data, check the installation."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from insdel.errors import RunError, UserError
from insdel_book.chapters import PROFILES, find_chapter, list_chapters
from insdel_book.clone import clone, find_root
from insdel_book.parameters import check_values

KEPT = "finished chapters and finished chunks of comparisons are kept: the same command continues from there"
COURSE = """Write student/ and teacher/ with exercise notebooks, and slides/ with a deck for each lecture. A deck is
made of chapters as they ran; those that have changed since the last book or course run first. Open slides/index.html in
a browser; no network is needed. What is on which slide: course/lectures.yml."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 all well, 1 a chapter or page failed, 2 misuse."""
    options = parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)  # so that workers are ended and folders cleaned
    try:
        return int(options.action(options) or 0)
    except UserError as error:
        return _refuse(error, 2)
    except RunError as error:
        return _refuse(error, 1)
    except OSError as error:  # the system's own reason: no room, no right, no such file
        return _refuse(error, 2 if isinstance(error, FileNotFoundError) else 1)
    except KeyboardInterrupt:
        return _refuse(f"stopped; what was published before is untouched, {KEPT}", 130)
    except Exception as error:
        traceback.print_exc()
        return _refuse(f"this is a defect of insdel ({type(error).__name__}); please report it with the lines above", 1)


def _terminated(*_: Any) -> NoReturn:
    """What SIGTERM does: the same as Ctrl-C, with its own exit code."""
    print(f"insdel: terminated (SIGTERM); what was published before is untouched, {KEPT}", file=sys.stderr)
    raise SystemExit(143)


def _refuse(what: Any, code: int) -> int:
    print(f"insdel: {what}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="insdel", description="Insertion and deletion tests, as a book.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run one chapter with parameters of your own into runs/")
    run.add_argument("chapter", help="its number, its name or a part of it: 1, walk, cern")
    run.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    run.add_argument("-l", "--list", action="store_true", help="list the chapter's parameters and stop")
    run.add_argument("-o", "--output", type=Path, help="folder for the result (default: runs/CHAPTER/TIME)")
    run.add_argument("--profile", choices=PROFILES, default="quick", help="values of parameters not set with -p")
    run.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, tcp://…, for chapters that compare")
    run.set_defaults(action=run_command)
    book = commands.add_parser("book", help="run what changed and build the book into build/book")
    book.add_argument("--profile", choices=PROFILES, default="quick", help="smoke: seconds; paper: full size")
    book.add_argument("--chapters", nargs="+", metavar="CHAPTER", help="a draft of these, into build/draft")
    book.add_argument("--jobs", type=int, help="chapters at a time (default: as many as there are cores)")
    book.add_argument("--force", action="store_true", help="run chapters even if nothing changed")
    book.set_defaults(action=book_command)
    _add_report(commands)
    _add_benchmark(commands)
    sync = commands.add_parser("sync", help="write the .ipynb of every chapter from its .md")
    sync.set_defaults(action=sync_command)
    _add_course(commands)
    data = commands.add_parser("data", help="list the data sets, or fetch one: insdel data fetch cern")
    data.add_argument("fetch", nargs="*", metavar="fetch NAME", help="download the real file of a data set")
    data.set_defaults(action=data_command)
    record = commands.add_parser("record", help="carry out a full-size run and write it to results/ (hours; resumable)")
    record.add_argument("names", nargs="*", metavar="NAME", help="names of runs, or all")
    record.add_argument("-l", "--list", action="store_true", help="list the runs and stop")
    record.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"),
                        help="a trial with another size, into build/trials/")  # fmt: skip
    record.add_argument("--threads", type=int, default=1, help="threads of this process; changing it alters rounding")
    record.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, tcp://…, for runs that compare")
    record.set_defaults(action=record_command)
    claims = commands.add_parser("claims", help="derive the verdict on every claim of the paper from the records")
    claims.add_argument("--verdict", help='those with this verdict only, such as "does not hold"')
    claims.add_argument("--chapter", help="those of this chapter only, by its label or a part of its name")
    claims.add_argument("--json", action="store_true", help="with all numbers, as JSON")
    claims.add_argument("--state", action="store_true", help="save the derived verdicts as expected")
    claims.set_defaults(action=claims_command)
    device = commands.add_parser("device", help="check a GPU against the processor, and print a report to send in")
    device.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu shows the report's form")
    device.set_defaults(action=device_command)
    doctor = commands.add_parser("doctor", help="check that everything needed is installed; say what to do if not")
    doctor.set_defaults(action=doctor_command)
    return top


def _add_report(commands: Any) -> None:
    """Add the command `insdel report`."""
    report = commands.add_parser("report", help="grade explanations of your model on your table: one HTML page")
    add, many = report.add_argument, {"nargs": "+", "default": []}
    add("--data", type=Path, required=True, metavar="CSV", help="your table")
    add("--target", required=True, help="the column that the model predicts")
    add("--model", required=True, help="file.py:name, module:name, or a file: .safetensors of our network, .json or "
        ".ubj of XGBoost, .txt of LightGBM, .cbm of CatBoost, .onnx")  # fmt: skip
    add("--attributions", **many, metavar="LABEL=CSV", help="of your own: a row for each row of the table")
    add("--sign", choices=("shap", "change", "absolute"), help="what their sign means: as shap writes it, or x to x′")
    add("--reference", choices=("typical", "counterfactual", "one_to_one"), default="typical", help="what x′ is")
    add("--background", metavar="N|CSV", help="average over N rows of the table, or the rows of a file, instead of x′")
    add("--groups", **many, metavar="NAME=COLUMN,COLUMN", help="columns that change together")
    add("--class", dest="positive", metavar="NAME", help="the class that is explained, or predicted")
    add("--rows", type=int, default=40, help="how many rows are graded, at most (default: 40)")
    add("--drop", **many, metavar="COLUMN", help="columns to leave out")
    add("--keep", **many, metavar="COLUMN", help="features that look like ids")
    add("--categorical", **many, metavar="COLUMN", help="columns of numbers that are categories")
    add("--seed", type=int, default=0)
    add("-o", "--output", type=Path, default=Path("report.html"))
    report.set_defaults(action=report_command)


def _add_benchmark(commands: Any) -> None:
    """Add the command `insdel benchmark`."""
    text = "score a method of your own on frozen games of many tables and models, beside the known ones"
    bench = commands.add_parser("benchmark", help=text)
    bench.add_argument("entry", nargs="?", help="file.py:name of a function (f, d, budget, seed) → d numbers")
    bench.add_argument("--budget", type=int, default=16, metavar="K", help="K d evaluations per game (default 16)")
    bench.add_argument("--curve", action="store_true", help="several budgets")
    bench.add_argument("--seconds", type=float, default=20.0, help="that one game may take (default 20)")
    bench.add_argument("--model", help="file.py:name of your model: one more cell, with --data and --target")
    bench.add_argument("--data", type=Path, metavar="CSV", help="your table")
    bench.add_argument("--target", help="the column that the model predicts")
    bench.set_defaults(action=benchmark_command)


def _add_course(commands: Any) -> None:
    """Add the command `insdel course`."""
    what = "exercise notebooks for students and teachers, and slides for lectures, into build/course"
    course = commands.add_parser("course", help=f"write {what}", description=COURSE)
    course.add_argument("-o", "--output", type=Path, help="another folder for them")
    course.add_argument("--only", choices=("notebooks", "slides"), help="one of the two")
    course.add_argument("--lectures", nargs="+", metavar="LECTURE", help="slides of these only: walk, houses, …")
    course.add_argument("--profile", choices=PROFILES, default="quick", help="profile of the slides' chapters")
    course.set_defaults(action=course_command)


def _need_book_extra() -> None:
    """Refuse early if chapters cannot run."""
    from insdel_book.doctor import has_book_extra

    if not has_book_extra():
        raise UserError('papermill and Jupyter Book are needed but missing: pip install "insdel[book]"')


def log(text: str) -> None:
    """Print a line at once, also into a log file."""
    print(text, flush=True)


def run_command(options: argparse.Namespace) -> None:
    """Run one chapter into runs/, or list its parameters."""
    root = clone()
    chapter = find_chapter(list_chapters(root), options.chapter)
    parameters = chapter.parameters()
    if options.list:
        log("\n".join(map(str, parameters.values())))
        return
    from insdel_book.precheck import inspect_values

    values = check_values(parameters, user_values(options))
    inspect_values(parameters, values)
    if values and "evidence" in parameters and "evidence" not in values:
        log("evidence = live: tables and figures show your run; -p evidence recorded shows the recorded full-size one")
        values["evidence"] = "live"
    _need_book_extra()
    from insdel_book.build import run_one
    from insdel_book.space import check_room, fresh_folder, refuse_taken

    check_room(root / "build", "run")
    default = root / "runs" / chapter.name / datetime.now().strftime("%Y%m%d-%H%M%S")
    place = options.output.resolve() if options.output else None
    check_room((place or default).parent, "run")
    if place:
        refuse_taken(place, f"{chapter.name}.ipynb")
    written = run_one(root, chapter, values, lambda: place or fresh_folder(default), options.profile, log)
    log("\n".join(map(str, written)))


def report_command(options: argparse.Namespace) -> None:
    """Grade explanations on a table and a model of one's own, into one HTML page."""
    try:
        from insdel.own import page
    except ModuleNotFoundError as error:
        raise UserError(f'insdel report needs {error.name}: pip install "insdel[methods]"') from None

    choice = {name: value for name, value in vars(options).items() if name != "action"}
    written, notes = page.write(**choice)
    log("\n".join([*notes, str(written.resolve())]))


def benchmark_command(options: argparse.Namespace) -> None:
    """Score an entry on the frozen games, with a reader's own table as one more cell if there is one."""
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
    twice = {name for name, _ in given if sum(name == other for other, _ in given) > 1}
    if twice:
        raise UserError(f"parameter {sorted(twice)[0]!r} is given twice. Give it once; a list is written a,b,c.")
    return dict(given)


def book_command(options: argparse.Namespace) -> None:
    """Build the book, or a draft of some chapters."""
    root = find_root()
    listed = list_chapters(root)
    chapters = [find_chapter(listed, text) for text in options.chapters] if options.chapters else None
    if options.jobs is not None and options.jobs < 1:
        raise UserError(f"--jobs needs a whole number of at least 1; found {options.jobs}.")
    _need_book_extra()
    from insdel_book.build import build_book

    log(str(build_book(root, options.profile, chapters, options.jobs, options.force, log)))


def sync_command(options: argparse.Namespace) -> None:
    """Bring the notebooks for Colab and Binder in step with the chapters."""
    _need_book_extra()
    from insdel_book.twins import sync

    root = find_root()
    changed = sync(root, list_chapters(root))
    log("\n".join(f"written: {path.relative_to(root)}" for path in changed) or "every .ipynb is up to date")


def course_command(options: argparse.Namespace) -> None:
    """Write the notebooks of the course, the teachers' ones executed, and the slides of its lectures."""
    _need_book_extra()
    from insdel_book.course import load_course
    from insdel_book.slides import build_slides
    from insdel_book.twins import repository_address

    root = find_root()
    folder = (options.output or root / "build" / "course").resolve()
    written: list[Path] = []
    if options.only != "slides":
        written += load_course("notebooks").write_course(folder, repository_address(root), log)
    if options.only != "notebooks":
        written += build_slides(root, folder / "slides", options.lectures, options.profile, log)
    log("\n".join(map(str, written)))


def data_command(options: argparse.Namespace) -> None:
    """List the data sets and where each would come from, or fetch one."""
    from insdel_paper import data as datasets

    if options.fetch:
        if options.fetch[0] != "fetch" or len(options.fetch) != 2:
            raise UserError(f"use `insdel data` or `insdel data fetch NAME`; found {' '.join(options.fetch)!r}.")
        log(str(datasets.fetch(options.fetch[1])))
        return
    for entry in datasets.available():
        known = {True: "as published", False: "NOT as published: another hash", None: "hash not on record"}
        result = f"real: {entry['found']} ({known[entry['sha_ok']]})"
        missing = f"simulated, for there is no real file; to get it: {entry['get']}"
        log(f"{entry['name']}: {entry['what']}\n  {result if entry['found'] else missing}")


def record_command(options: argparse.Namespace) -> int:
    """Carry out full-size runs, or trials, or list them; exit code 2 if one could not be done."""
    from insdel_book.precheck import reach
    from insdel_paper.records import registry

    if options.list or not options.names:
        log("\n".join(registry.describe_runs()))
        return 0
    if options.scheduler:
        reach(options.scheduler)
    changes = dict(options.parameter)
    how = {"threads": options.threads, "scheduler": options.scheduler, "log": log}
    return 2 if registry.carry_out(options.names, changes, **how) else 0


def claims_command(options: argparse.Namespace) -> int:
    """Derive all verdicts and print the chosen ones; exit code 1 if one is not the stated one."""
    from insdel_book.report import report

    lines, agree = report(options.verdict, options.chapter, options.json, options.state)
    log("\n".join(lines))
    return 0 if agree else 1


def device_command(options: argparse.Namespace) -> int:
    """Print the report as it comes; exit code 1 if a check differs or fails."""
    from insdel_book.device import report

    return 0 if report(options.device, log) else 1


def doctor_command(options: argparse.Namespace) -> int:
    """Print what was found and what to do; exit code 1 if something needed is missing."""
    from insdel_book.doctor import report

    lines, healthy = report(find_root())
    log("\n".join(lines))
    return 0 if healthy else 1


if __name__ == "__main__":
    sys.exit(main())
