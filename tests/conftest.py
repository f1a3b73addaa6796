"""What several tests share: a tiny book in a folder of its own, and one smoke build of the real book."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from filelock import FileLock

from insdel_book.cli import main
from insdel_book.doctor import find_browser
from insdel_book.ranges import LARGEST

ROOT = Path(__file__).resolve().parents[1]
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # the processes share the cores
signal.signal(signal.SIGINT, signal.default_int_handler)  # after nohup all that tests start would ignore it
LONGEST = (  # names of files, without test_
    "pages", "forensics", "every_value", "faults", "device", "attribution_odd", "simulators", "records", "repository",
    "build", "cli", "board_browser", "accessibility", "browser", "claims_browser", "tables", "slides", "benchmark",
    "course_notebooks", "mistakes", "howto", "own_chapter", "installation", "comparison", "bench",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_figure_stays_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """A figure that stays open would be shown twice in a notebook."""
    yield
    if request.path.name.startswith(("test_figures", "test_board.")):
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


FIRST = (ROOT / "notebooks" / "01_walk.md").read_text(encoding="utf-8")
HEADER = FIRST[: FIRST.index("---\n", 3) + 4] + "\n"  # which format it is, and which kernel runs it

SETUP = """```{code-cell} ipython3
:tags: [remove-cell]

# Colab and the like: install the package. Does nothing where it is installed.
import importlib.util

if importlib.util.find_spec("insdel") is None:
    %pip install -q "..[book]"
```
"""

CHECK = """```{code-cell} ipython3
:tags: [remove-cell]

from insdel_book.parameters import check_parameters

check_parameters()
```
"""

ADD = HEADER + """(add)=
# Add two numbers

""" + SETUP + """
```{code-cell} ipython3
:tags: [parameters]

count = 3  # how many numbers are added; at least 0
scale = 0.5  # each is multiplied by this; at least 0.0
seed = 1  # seed of the random numbers; at least 0
words = ["a", "b"]  # what is printed; columns
loud = False  # whether in capitals; true or false
title = "sum"  # the name of the sum; any text
limit = None  # a table; None or a file
```

""" + CHECK + """
```{code-cell} ipython3
from myst_nb import glue
from insdel_book.chapters import record

record(data="simulated", note="made up")
total = scale * sum(range(count))
glue("add-total", total, display=False)
print("total", total)
```

The total is {glue:text}`add-total:.1f`, which {term}`ABC` has nothing to do with {cite}`hama2023deletion`.

```{code-cell} ipython3
import os
print("working in", os.getcwd())
```

$$\\frac{a}{b} = \\sum_{u \\subseteq 1:n} \\Delta_u, \\quad \\mathbb{E}(\\mathrm{ABC}) \\leqslant \\lceil u \\rceil$$
"""

DRAW = HEADER + """(draw)=
# Draw a line

""" + SETUP + """
```{code-cell} ipython3
:tags: [parameters]

points = 4  # how many points the line has; at least 2
```

""" + CHECK + """
```{code-cell} ipython3
---
mystnb:
  image:
    alt: The line rises.
  figure:
    name: fig-line
    caption: A line.
---
import matplotlib.pyplot as plt
from insdel_paper import figures

figures.use_style()
figure, axes = plt.subplots()
axes.plot(range(points))
plt.close(figure)
figure
```

See {numref}`fig-line` and {ref}`add`.
"""

PROFILES = """01_add:
  smoke: {count: 2}
  paper: {count: 1000}
"""

TOC = """format: jb-book
root: book/index
parts:
  - caption: I Theory
    numbered: 1
    chapters:
      - file: notebooks/01_add
      - file: notebooks/02_draw
  - caption: Help
    chapters:
      - file: book/run
      - file: book/notation
      - file: book/glossary
      - file: book/status
      - file: book/references
"""


def make_tiny_book(root: Path) -> Path:
    """Write a book of two chapters that has the real book's configuration and help pages."""
    shutil.copytree(ROOT / "book", root / "book")
    shutil.copytree(ROOT / "course", root / "course")
    shutil.copy(ROOT / "_config.yml", root)
    (root / "notebooks").mkdir()
    (root / "_toc.yml").write_text(TOC, encoding="utf-8")
    (root / "notebooks" / "profiles.yml").write_text(PROFILES, encoding="utf-8")
    (root / "notebooks" / "01_add.md").write_text(ADD, encoding="utf-8")
    (root / "notebooks" / "02_draw.md").write_text(DRAW, encoding="utf-8")
    (root / "book" / "index.md").write_text("# Tiny\n\n```{tableofcontents}\n```\n", encoding="utf-8")
    return root


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that none is left for one process in the end.

    The first builds the real book; those that wait for it come when it is there. Tests in a browser get a second try, as
    events can be late on a busy machine. Nothing else gets one.
    """
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem.removeprefix("test_"), len(places)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which files take longest: the list above should begin with them."""
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration"):
                seconds[report.nodeid.split("::")[0]] += report.duration
    if sum(seconds.values()) > 60:
        terminalreporter.section("slowest files")
        for file, total in seconds.most_common(20):
            terminalreporter.write_line(f"{total:7.1f}s {file}")


@pytest.fixture
def tiny_book(tmp_path: Path) -> Path:
    return make_tiny_book(tmp_path / "tiny")


def insdel(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, as a user does."""
    command = [sys.executable, "-m", "insdel_book.cli", *arguments]
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that runs the command line in this process, in a folder: all that it prints, which is no traceback."""

    def run(text: str, code: int = 0, folder: Path | None = None) -> str:
        if folder is not None:
            monkeypatch.chdir(folder)
        assert main(shlex.split(text)) == code
        said = "".join(capsys.readouterr())
        assert "Traceback" not in said
        return said

    return run


def load_benchmark(name: str) -> ModuleType:
    """Import a file of benchmarks/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def samples(schema: dict[str, Any]) -> list[Any]:
    """Values that a range allows, from its JSON schema: both ends and an odd one; of texts and files none."""
    if "anyOf" in schema:
        return [value for part in schema["anyOf"] for value in samples(part)]
    match schema.get("type"):
        case "null":
            return [None]
        case "boolean":
            return [True, False]
        case "string":
            return schema.get("enum", [schema["const"]] if "const" in schema else [])
        case "integer":
            low, high = schema["minimum"], schema["maximum"]
            return list(dict.fromkeys([low, *([high] if high < LARGEST else []), *([low + 2] if high > low + 2 else [])]))
        case "number":
            low, high = (schema.get(f"exclusive{name.title()}", schema.get(name)) for name in ("minimum", "maximum"))
            width = 3.7 if high is None else min(high - low, 3.7)
            margin = 0.001 * width if "exclusiveMinimum" in schema else 0.0
            return [low + margin, *([] if high is None else [high - margin]), low + 0.37 * width]
        case "array" if schema.get("maxItems") == 0:
            return [[]]
        case "array":
            parts = samples(schema["items"])
            if "enum" in schema["items"]:
                return [parts[:1], parts[-1:], parts, parts[:-3:-1]]
            return [*([part] for part in parts), [parts[-1], parts[0]]] if parts else []
    return []


@pytest.fixture(scope="session")
def real_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the real book's pages: built here in the smoke profile, or named by INSDEL_BOOK."""
    if os.environ.get("INSDEL_BOOK"):
        return Path(os.environ["INSDEL_BOOK"]).resolve()
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    with FileLock(shared / "real.lock"):  # one process builds it, the others wait
        note = shared / "real.txt"
        if not note.is_file():
            note.write_text(str(build_real_book(shared / "real")), encoding="utf-8")
    return Path(note.read_text(encoding="utf-8"))


def build_real_book(root: Path) -> Path:
    """Build the real book in the smoke profile, in a folder of its own; return the folder of its pages."""
    root.mkdir()
    for name in ("book", "course", "notebooks", "results"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, root)
    cache = ROOT / "build" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    (root / "build").mkdir()
    (root / "build" / "cache").symlink_to(cache)  # chapters that are unchanged since the last session
    done = insdel(root, "book", "--profile", "smoke", INSDEL_REPOSITORY="someone/fork")
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1]).parent


@pytest.fixture(scope="module")
def papers_network() -> torch.nn.Module:
    """The paper's sizes, shrunk, in float32, away from its initial weights."""
    from insdel.own.mlp import MLP

    torch.manual_seed(1)
    f = MLP(16, (64, 48, 16, 32), dropout=0.1)
    for parameter in f.parameters():
        parameter.data *= 2
    return f


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    """A CUDA device that is not there, for the length of a test."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "gpu"))
    from pretend import pretended_cuda

    with pretended_cuda() as device:
        yield device


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    command = find_browser()
    if command is None:
        pytest.skip("no Chromium on this machine: pages and slides are not looked at in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which(command), args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Keep requests out of the test report."""


@pytest.fixture(scope="module")
def address(real_book: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(real_book)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Any]:
    """Return a function that opens a page; requests to other hosts fail, and fail the test at its end."""
    contexts, wrong = [], []

    def guard(route: Any) -> None:
        if route.request.url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            wrong.append(route.request.url)
            route.abort()

    def open_(path: str, width: int = 1280, scheme: str = "light", scripts: bool = True) -> Any:
        look = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
        context = browser.new_context(**look, java_script_enabled=scripts)
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("response", lambda answer: wrong.append(answer.url) if answer.status >= 400 else None)
        page.goto(f"{address}/{path}", wait_until="networkidle")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not wrong
