"""Run one chapter: papermill with checked parameters, then take the machine out of what it left."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from insdel.errors import RunError, UserError
from insdel_book.cache import SRC, code_hash
from insdel_book.chapters import RECORD, Chapter
from insdel_book.parameters import Parameter
from insdel_paper import provenance

# what a kernel calls a reader's mistake: UserError and all that extends it, and weights that are not available
MISTAKES = ("UserError", "UserTypeError", "DataError", "DamagedRecordError", "WeightsError")


# the last cell of every run: which modules the chapter's code has loaded
MODULES = """\
import sys
from insdel_book.chapters import record
packages = {"insdel", "insdel_paper", "insdel_book", "course"}
record(modules=sorted(name for name in sys.modules if name.split(".")[0] in packages))"""


class ChapterError(RunError):
    """A chapter did not run to its end; the message names the chapter, the cell and the error."""


def execute(
    chapter: Chapter, values: Mapping[str, Any], profile: str, on_cell_start: Callable[[int, int], None] | None = None
) -> Any:
    """Return the executed notebook, cleaned, with the facts of its run in its metadata under `insdel`.

    on_cell_start : called with the number of each code cell that begins, and how many there are

    Raises UserError if a cell refuses what the reader chose, and ChapterError with the cell and the error if one
    fails otherwise, or if the kernel ended before the last one.
    """
    from nbformat.v4 import new_code_cell

    source, started, clock = chapter.read(), time.time(), time.perf_counter()
    root, parameters = chapter.source.parents[1], chapter.parameters()
    set_values(source, parameters, values)
    source.cells.append(new_code_cell(MODULES))
    notebook, begun = _run_cells(chapter, source, on_cell_start)
    recorded = take_records(notebook)
    modules = [*recorded.pop("modules"), __name__]
    del notebook.cells[-1]
    notebook.metadata["insdel"] = {
        "profile": profile,
        "parameters": {name: values.get(name, parameter.default) for name, parameter in parameters.items()},
        "recorded": recorded, "modules": modules, "code": code_hash(root, modules, started),
        "cells": begun, "seconds": round(time.perf_counter() - clock, 1),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "versions": provenance.versions(), "hardware": provenance.hardware(),
    }  # fmt: skip
    clean(notebook, scrubber(root))
    return notebook


def _run_cells(
    chapter: Chapter, source: Any, on_cell_start: Callable[[int, int], None] | None
) -> tuple[Any, list[float]]:
    """Run a notebook in a kernel of its own; return it, and when each code cell began, in seconds."""
    import papermill
    from nbclient.exceptions import DeadKernelError

    name, clock, begun = chapter.source.name, time.perf_counter(), []
    count = sum(cell.cell_type == "code" for cell in source.cells)

    def note_start(cell: Any, cell_index: int) -> None:
        if cell.cell_type == "code":
            begun.append(round(time.perf_counter() - clock, 1))
            if on_cell_start:
                on_cell_start(len(begun), count)

    try:
        notebook = papermill.execute_notebook(
            source, None, kernel_name="python3", progress_bar=False, on_cell_start=note_start,
            resources={"metadata": {"path": str(chapter.source.parent)}},  # papermill's cwd moves the whole process
            extra_arguments=["--log-level=50"],  # the kernel's own remarks are none of the chapter's
        )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        if error.ename in MISTAKES:
            raise UserError(f"{name}: {error.evalue}") from None
        raise ChapterError(_failure(name, len(begun), error)) from None
    except (DeadKernelError, RuntimeError) as error:
        raise ChapterError(f"{name}: the kernel died ({error}); {limits()}") from None
    refuse_unfinished(name, notebook)
    return notebook, begun


def refuse_unfinished(name: str, notebook: Any) -> None:
    """Raise ChapterError if a code cell did not run: something ended the kernel without an error, as sys.exit does."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    ran = [cell for cell in code if cell.execution_count is not None]
    if len(ran) < len(code):
        raise ChapterError(
            f"{name}: only {len(ran)} of {len(code)} code cells ran; something in code cell {len(ran)} or its model "
            f"file ended the kernel without an error (sys.exit?). Nothing was published."
        )


def limits() -> str:
    """The limits that this process has, for whoever wonders why a kernel died."""
    try:
        import resource
    except ImportError:  # Windows
        return "enough memory?"
    names = {"memory (ulimit -v, bytes)": resource.RLIMIT_AS, "open files (ulimit -n)": resource.RLIMIT_NOFILE,
             "processes (ulimit -u)": resource.RLIMIT_NPROC}  # fmt: skip
    held = {name: resource.getrlimit(limit)[0] for name, limit in names.items()}
    text = [f"{name} {value}" for name, value in held.items() if value != resource.RLIM_INFINITY]
    return f"enough memory? The limits here: {', '.join(text)}." if text else "enough memory?"


def _failure(name: str, number: int, error: Any) -> str:
    """Say which code cell failed, show it, and give the error."""
    lines = error.source.splitlines()
    excerpt = [f"    {line}" for line in lines[:12]] + (["    …"] if len(lines) > 12 else [])
    title = f"{name}, code cell {number} failed:"
    reason = [limits()] if error.ename in ("MemoryError", "OSError", "RuntimeError", "CellExecutionError") else []
    return "\n".join([title, *excerpt, f"  {error.ename}: {error.evalue}", *reason])


def refuse_warnings(name: str, notebook: Any) -> None:
    """Raise ChapterError if a cell wrote to stderr and is not tagged as one that may (`remove-stderr`)."""
    for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), start=1):
        noise = [output.text for output in cell.outputs if output.get("name") == "stderr"]
        if noise and "remove-stderr" not in cell.metadata.get("tags", []):
            raise ChapterError(f"{name}.md, code cell {number} warned:\n{''.join(noise).rstrip()}")


def take_records(notebook: Any) -> dict[str, Any]:
    """Return what the chapter noted with `record`, and take it out of the cells' outputs."""
    facts: dict[str, Any] = {}
    for cell in notebook.cells:
        noted = [out for out in cell.get("outputs", []) if RECORD in out.get("data", {})]
        for output in noted:
            facts |= output["data"][RECORD]
            cell.outputs.remove(output)
    return facts


def set_values(notebook: Any, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Write values into the parameter cell, which the page folds."""
    cell = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    lines = cell.source.splitlines()
    changed = {name: value for name, value in values.items() if value != parameters[name].default}
    for name in sorted(changed, key=lambda name: -parameters[name].lines.start):  # from below: lines may become fewer
        part = parameters[name].lines
        behind = lines[part.stop - 1].partition("  # ")[2]
        lines[part] = [f"{name} = {changed[name]!r}" + (f"  # {behind}" if behind else "")]
    cell.source = "\n".join(lines)
    cell.metadata["tags"] = [*cell.metadata["tags"], "hide-input"]
    cell.metadata.setdefault("mystnb", {})["code_prompt_show"] = f"Parameters: {', '.join(parameters)}"


def scrubber(root: Path) -> Callable[[str], str]:
    """Return a function that takes this machine's folders out of a text."""
    kernel_file = re.escape(tempfile.gettempdir()) + r"/ipykernel_\d+/\d+\.py"
    rules = [(re.compile(kernel_file), "cell")]
    folders = {str(root): ".", str(SRC): "src", sys.prefix: "python"}
    folders |= {tempfile.gettempdir(): "tmp", str(Path.home()): "~"}
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:  # "</root>" is no folder, nor is "/" worth hiding
            rules.append((re.compile(rf"(?<![\w<.]){re.escape(folder)}(?![\w-])"), folders[folder]))

    def scrub(text: str) -> str:
        for pattern, name in rules:
            text = pattern.sub(name, text)
        return text

    return scrub


def clean(notebook: Any, scrub: Callable[[str], str]) -> None:
    """Strip papermill's own metadata and the machine's paths from an executed notebook."""
    for metadata in (notebook.metadata, *(cell.metadata for cell in notebook.cells)):
        for key in ("papermill", "execution", "jupytext"):
            metadata.pop(key, None)
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [_map_text(output, scrub) for output in cell.outputs]
            for output in (out for out in cell.outputs if "scrapbook" in out.get("metadata", {})):
                for kind, text in output.data.items():  # prose formats 0.5, not np.float64(0.5)
                    if kind.endswith("text/plain"):
                        output.data[kind] = re.sub(r"^np\.\w+\((.*)\)$", r"\1", text)


def _map_text(value: Any, change: Callable[[str], str]) -> Any:
    """Apply `change` to every text inside nested lists and dicts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_text(item, change) for item in value]
    if isinstance(value, dict):
        return type(value)({key: _map_text(item, change) for key, item in value.items()})
    return value
