"""Chapters: which ones the book has, and the parameters that a reader may change."""

from __future__ import annotations

import ast
import difflib
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

RECORD = "application/vnd.insdel.paper.records.runs+json"
PROFILES = ("smoke", "quick", "paper")


@dataclass(frozen=True)
class Parameter:
    """One line of a chapter's parameter cell: `name = default  # comment`."""

    name: str
    default: Any
    comment: str
    line: int

    @property
    def kind(self) -> str:
        """What values are accepted, in words."""
        if isinstance(self.default, list) and self.default:
            return f"list of {type(self.default[0]).__name__}"
        return "anything" if self.default is None else type(self.default).__name__


@dataclass(frozen=True)
class Chapter:
    """One entry `notebooks/NN_name` of the table of contents."""

    name: str
    source: Path

    def read(self) -> Any:
        """Return the chapter as a notebook (nbformat 4) without outputs."""
        import jupytext

        return jupytext.read(self.source, fmt="md:myst")


def find_root(start: Path | None = None) -> Path:
    """Return the repository's folder: the nearest one at or above `start` with a `_toc.yml`."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "_toc.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise ValueError(
        f"the book's sources are needed (a folder with _toc.yml and notebooks/), but neither {start} nor a "
        "folder above it has them. Go into a clone of the repository and try again."
    )


def toc_files(entry: Any) -> Iterator[str]:
    """Every file named in a table of contents (or a part of one), in reading order."""
    if isinstance(entry, Mapping):
        if "file" in entry or "root" in entry:
            yield entry.get("root") or entry["file"]
        for part in ("parts", "chapters", "sections"):
            for child in entry.get(part, []):
                yield from toc_files(child)


def list_chapters(root: Path) -> list[Chapter]:
    """Return the chapters that `_toc.yml` names, in reading order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    names = [Path(file).name.split(".")[0] for file in toc_files(toc) if file.startswith("notebooks/")]
    chapters = [Chapter(name, root / "notebooks" / f"{name}.md") for name in names]
    missing = [chapter.source.name for chapter in chapters if not chapter.source.is_file()]
    if missing:
        raise ValueError(f"_toc.yml names {', '.join(missing)}, not found in notebooks/. Write or unlist it.")
    return chapters


def find_chapter(chapters: Iterable[Chapter], text: str) -> Chapter:
    """Return the one chapter that `text` means: its name, number, a part of its name, or nearly so."""
    by_name = {chapter.name: chapter for chapter in chapters}
    wanted = Path(text).name.removesuffix(".md").removesuffix(".ipynb").lower().replace("-", "_")
    if wanted in by_name:
        return by_name[wanted]
    if wanted.isdigit():
        found = [name for name in by_name if name.split("_")[0].lstrip("0") == wanted.lstrip("0")]
    else:
        titles = {name: name.partition("_")[2] for name in by_name}
        found = [name for name, title in titles.items() if title == wanted]
        found = found or [name for name in by_name if wanted in name]
        close = difflib.get_close_matches(wanted, titles.values(), n=1)
        found = found or [name for name, title in titles.items() if title in close]
    if len(found) == 1:
        return by_name[found[0]]
    problem = f"{text!r} may mean {' or '.join(found)}" if found else f"there is no chapter {text!r}"
    raise ValueError(f"{problem}. The chapters are: {', '.join(by_name)}.")


def tagged(notebook: Any, tag: str) -> int | None:
    """Return the index of the first cell with that tag."""
    cells = enumerate(notebook.cells)
    return next((index for index, cell in cells if tag in cell.metadata.get("tags", [])), None)


def read_parameters(notebook: Any) -> dict[str, Parameter]:
    """Return the parameters of a chapter by name, read from its cell tagged `parameters`."""
    index = tagged(notebook, "parameters")
    if index is None:
        return {}
    source = notebook.cells[index].source
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.string[:1] == "#"}
    parameters = [_parameter(node, comments) for node in ast.parse(source).body]
    return {parameter.name: parameter for parameter in parameters}


def _parameter(node: ast.stmt, comments: Mapping[int, str]) -> Parameter:
    """Turn one statement of the parameter cell into a Parameter."""
    try:
        if not isinstance(node, ast.Assign) or node.lineno != node.end_lineno:
            raise ValueError("not one assignment on one line")
        (target,) = node.targets
        if not isinstance(target, ast.Name):
            raise ValueError("not a plain name")
        value, comment = ast.literal_eval(node.value), comments.get(node.lineno, "")
        return Parameter(target.id, value, comment, node.lineno - 1)
    except ValueError as error:
        raise ValueError(
            f"a parameter cell needs lines of the form `name = literal  # comment`; found "
            f"`{ast.unparse(node)}` ({error})."
        ) from error


def check_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values`, made to fit the types of the defaults; refuse unknown names and wrong types.

    Text is read as the type that is expected, as it comes from a command line.
    """
    for name in values:
        if name not in parameters:
            raise ValueError(_unknown(name, parameters))
    return {name: _fit(parameters[name], value) for name, value in values.items()}


def _unknown(name: str, parameters: Mapping[str, Parameter]) -> str:
    """Say which parameters there are, and which one may have been meant."""
    near = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    known = [f"  {p.name} = {p.default!r}  # {p.comment} ({p.kind})" for p in parameters.values()]
    return "\n".join([f"there is no parameter {name!r}.{guess} The chapter has:", *(known or ["  none"])])


def _fit(parameter: Parameter, value: Any) -> Any:
    """Return the value in the type of the parameter's default, or say what was expected."""
    default = parameter.default
    read = _literal(value, default) if isinstance(value, str) and not isinstance(default, str) else value
    fits, fitted = _match(default, read)
    if not fits:
        raise ValueError(
            f"parameter {parameter.name!r} ({parameter.comment}) needs {parameter.kind}, "
            f"such as {default!r}; found {value!r}."
        )
    return fitted


def _match(default: Any, value: Any) -> tuple[bool, Any]:
    """Whether the value fits the default's type, and the value; whole numbers do for floats, bools not."""
    if default is None:
        return True, value
    if isinstance(default, list) and isinstance(value, list):
        if len({type(item) for item in default}) != 1:
            return True, value
        matches = [_match(default[0], item) for item in value]
        return all(fits for fits, _ in matches), [item for _, item in matches]
    if type(default) is float and type(value) is int:
        return True, float(value)
    if type(default) is int and type(value) is float and value.is_integer():
        return True, int(value)
    return type(value) is type(default), value


def _literal(text: str, default: Any) -> Any:
    """Read text from a command line: a YAML value; `a,b,c` will do for a list."""
    is_list = isinstance(default, list)
    all_text = is_list and bool(default) and all(isinstance(item, str) for item in default)
    try:
        value = yaml.load(f"[{text}]" if is_list and not text.lstrip().startswith("[") else text,
                          Loader=yaml.BaseLoader if all_text else yaml.SafeLoader)  # fmt: skip
    except yaml.YAMLError:
        return text
    if all_text:
        return value
    return [_number(item) for item in value] if isinstance(value, list) else _number(value)


def _number(value: Any) -> Any:
    """Return text such as 1e-3 as the float it means (YAML 1.1 wants a point); all else as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def profile_values(root: Path, chapter: Chapter, profile: str) -> dict[str, Any]:
    """Return what a profile sets differently from the chapter's own parameter cell, checked."""
    if profile not in PROFILES:
        raise ValueError(f"there is no profile {profile!r}. The profiles are: {', '.join(PROFILES)}.")
    profiles = yaml.safe_load((root / "notebooks" / "profiles.yml").read_text(encoding="utf-8")) or {}
    values = (profiles.get(chapter.name) or {}).get(profile) or {}
    try:
        return check_values(read_parameters(chapter.read()), values)
    except ValueError as error:
        raise ValueError(f"profiles.yml, {chapter.name}, {profile}: {error}") from error


def record(**facts: Any) -> None:
    """Note facts about a chapter's run (its data source, say) for the book's status page."""
    from IPython.display import display

    text = ", ".join(f"{name}: {value}" for name, value in facts.items())
    display({RECORD: facts, "text/plain": text}, raw=True)
