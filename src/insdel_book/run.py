"""Run one chapter: papermill with checked parameters, then take the machine out of what it left."""

from __future__ import annotations

import atexit
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import papermill
from nbclient.exceptions import DeadKernelError
from nbformat.v4 import new_code_cell
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines

from insdel.errors import RunError, UserError
from insdel_book.cache import SRC, code_hash
from insdel_book.chapters import RECORD, Chapter
from insdel_book.parameters import Parameter
from insdel_book.space import soft_limits
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
    chapter: Chapter, values: Mapping[str, Any], profile: str,
    on_cell_start: Callable[[int, int], None] | None = None, threads: int = 1,
) -> Any:  # fmt: skip
    """Return the executed notebook, cleaned, with the facts of its run in its metadata under `insdel`.

    on_cell_start : called with the number of each code cell that begins, and how many there are

    Raises UserError if a cell refuses what the reader chose, ChapterError if one fails otherwise or ends the kernel.
    """
    notebook, started, clock = chapter.read(), time.time(), time.perf_counter()
    root, parameters = chapter.source.parents[1], chapter.parameters()
    set_values(notebook, parameters, values)
    notebook.cells.append(new_code_cell(MODULES))
    notebook, begun = _run_cells(chapter, notebook, on_cell_start, threads)
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


class ChapterEngine(NBClientEngine):
    """Papermill's usual engine; each kernel gets an environment: this package, so many threads, nobody's settings."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, folder: str, threads: int,
        on_cell_start: Callable[[Any, int], None] | None, **papermills: Any,
    ) -> Any:  # fmt: skip
        """Run the cells; papermills : options that papermill gives to every engine, for logs and time limits."""
        client = PapermillNotebookClient(
            nb_man, kernel_name=kernel_name, on_cell_start=on_cell_start, resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=50"],  # the kernel's own remarks are none of the chapter's
            shutdown_kernel="immediate",  # nothing is left to do at its exit, which takes seconds with torch
        )  # fmt: skip
        libraries = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment = dict(os.environ) | dict.fromkeys(libraries, str(threads)) | {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(SRC), os.environ.get("PYTHONPATH", "")])),
            "PYTHONHASHSEED": "0",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "OMP_WAIT_POLICY": "PASSIVE",  # kernels share the cores: a thread that waits must not spin
            "TQDM_DISABLE": "1",  # a progress bar has no place on a page
            "PYTHONWARNINGS": "ignore:IProgress not found",  # nor has the remark that there is no widget for it
        }  # fmt: skip
        try:
            with tempfile.TemporaryDirectory() as empty:  # no one's start-up files
                return client.execute(env=environment | {"IPYTHONDIR": empty})
        finally:
            atexit.unregister(client._cleanup_kernel)  # nbclient leaves it where a kernel ends before it has started


papermill_engines.register("insdel", ChapterEngine)


def run_notebook(
    notebook: Any, folder: Path, threads: int = 1, on_cell_start: Callable[[Any, int], None] | None = None
) -> Any:
    """Return the notebook, run by papermill without a trace of it; a cell that fails is a PapermillExecutionError."""
    done = papermill.execute_notebook(
        notebook, None, kernel_name="python3", engine_name="insdel", progress_bar=False, on_cell_start=on_cell_start,
        folder=str(folder), threads=threads,
    )  # fmt: skip
    for metadata in (done.metadata, *(cell.metadata for cell in done.cells)):
        for key in ("papermill", "execution"):
            metadata.pop(key, None)
    return done


def _run_cells(
    chapter: Chapter, source: Any, on_cell_start: Callable[[int, int], None] | None, threads: int
) -> tuple[Any, list[float]]:
    """Run a chapter; return it, and when each code cell began, in seconds."""
    name, clock, begun = chapter.source.name, time.perf_counter(), []
    code = [cell.source for cell in source.cells if cell.cell_type == "code"]

    def note_start(cell: Any, cell_index: int) -> None:
        if cell.cell_type == "code":
            begun.append(round(time.perf_counter() - clock, 1))
            if on_cell_start:
                on_cell_start(len(begun), len(code))

    error, text = "SystemExit", "0"  # which papermill takes for a regular end
    try:
        notebook = run_notebook(source, chapter.source.parent, threads, note_start)
        if len(begun) == len(code):
            return notebook, begun
    except papermill.PapermillExecutionError as failure:
        error, text = failure.ename, failure.evalue
    except (DeadKernelError, RuntimeError) as failure:
        raise ChapterError(f"{name}: the kernel died in code cell {len(begun)} ({failure}); {limits()}") from None
    if error in MISTAKES:
        raise UserError(f"{name}: {text}")
    lines = code[len(begun) - 1].splitlines()
    excerpt = [f"    {line}" for line in [*lines[:12], *(["…"] if len(lines) > 12 else [])]]
    why = [limits()] if error in ("MemoryError", "OSError", "RuntimeError") else []
    raise ChapterError("\n".join([f"{name}, code cell {len(begun)} failed:", *excerpt, f"  {error}: {text}", *why]))


def limits() -> str:
    """The limits that this process has, for whoever wonders why a kernel died."""
    text = ", ".join(f"{name} {value}" for name, value in soft_limits().items())
    return f"enough memory? The limits here: {text}." if text else "enough memory?"


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
        for output in [out for out in cell.get("outputs", []) if RECORD in out.get("data", {})]:
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
    kernel_file = re.compile(re.escape(tempfile.gettempdir()) + r"/ipykernel_\d+/\d+\.py")
    folders = {str(root): ".", str(SRC): "src", sys.prefix: "python"}
    folders |= {tempfile.gettempdir(): "tmp", str(Path.home()): "~"}
    longest_first = sorted((folder for folder in folders if len(folder) > 1), key=len, reverse=True)
    folder = re.compile(rf"(?<![\w<.])({'|'.join(map(re.escape, longest_first))})(?![\w-])")  # "</root>" is no folder
    return lambda text: folder.sub(lambda match: folders[match[1]], kernel_file.sub("cell", text))


def clean(notebook: Any, scrub: Callable[[str], str]) -> None:
    """Strip jupytext's own metadata and the machine's paths from an executed notebook."""
    notebook.metadata.pop("jupytext", None)
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
