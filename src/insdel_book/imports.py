"""Which modules of the three packages a chapter depends on, found from the import statements and not by importing.

Imports inside functions count. A package that only hands on names (`figures`, or `insdel` itself with its lazy_loader)
counts by the names that are used: `insdel.curve` means `insdel.curves`. Text that is the name of a module counts as
an import of it, for it may become one.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

CODE = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"\A---\n.*?^---\n|\A(?::[^\n]*\n)+", re.MULTILINE | re.DOTALL)
PACKAGES = frozenset(("insdel", "insdel_paper", "insdel_book"))
RUNS_THEM = ("insdel_book.run", "insdel_book.parameters")  # what every executed chapter has gone through


@dataclass(frozen=True)
class Graph:
    """The modules of the packages in a folder, and who imports whom."""

    folder: Path
    names: frozenset[str] = PACKAGES
    _seen: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    @cached_property
    def files(self) -> dict[str, Path]:
        """Module → file."""
        result = {}
        for path in sorted(path for name in self.names for path in (self.folder / name).rglob("*.py")):
            parts = path.relative_to(self.folder).with_suffix("").parts
            result[".".join(parts).removesuffix(".__init__")] = path
        return result

    @cached_property
    def lazy(self) -> dict[str, dict[str, str]]:
        """Package that only hands on names → these names → the module behind each."""
        packages = {name: path for name, path in self.files.items() if path.name == "__init__.py"}
        return {name: names for name, path in packages.items() if (names := _attached(name, path))}

    def imported_by(self, module: str) -> frozenset[str]:
        """The modules that a module imports by itself."""
        if module not in self._seen:
            path = self.files[module]
            inside = module if path.name == "__init__.py" else module.rpartition(".")[0]
            source = "" if module in self.lazy else path.read_text(encoding="utf-8")  # what it hands on counts if used
            self._seen[module] = frozenset(self.imports(source, inside) - {module})
        return self._seen[module]

    def imports(self, source: str, package: str = "") -> set[str]:
        """The modules that some code imports; `package` is what its dots mean."""
        tree = ast.parse(source)
        result: set[str] = set()
        bound: dict[str, str] = {}  # name in the code → lazy package that it stands for
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                result |= self._plain(node, bound)
            elif isinstance(node, ast.ImportFrom):
                result |= self._from(node, package, bound)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in self.files:
                result.add(node.value)
        for name, lazy in bound.items():
            result |= self._used(tree, name, lazy)
        return {module for name in result for module in self._with_parents(name)}

    def _plain(self, node: ast.Import, bound: dict[str, str]) -> set[str]:
        """`import insdel`, `import insdel_paper as paper`."""
        names = [alias for alias in node.names if alias.name in self.files]
        for alias in names:
            stands_for = alias.name if alias.asname else alias.name.partition(".")[0]
            if stands_for in self.lazy:
                bound[alias.asname or stands_for] = stands_for
        return {alias.name for alias in names}

    def _from(self, node: ast.ImportFrom, package: str, bound: dict[str, str]) -> set[str]:
        """`from insdel_paper import figures, table`, with dots too."""
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*above, *filter(None, [node.module])])
        if module not in self.files:
            return set()
        result = {module}
        for alias in node.names:
            below = f"{module}.{alias.name}"
            target = below if below in self.files else self.lazy.get(module, {}).get(alias.name)
            if target:
                result.add(target)
            if target in self.lazy:
                bound[alias.asname or alias.name] = str(target)
        return result

    def _used(self, tree: ast.AST, name: str, lazy: str) -> set[str]:
        """What is taken from a lazy package by `name.attribute`; all of it if the package itself is handed on."""
        known = self.lazy[lazy]
        nodes = list(ast.walk(tree))
        taken = [node for node in nodes if isinstance(node, ast.Attribute) and _is_name(node.value, name)]
        whole = sum(_is_name(node, name) for node in nodes) > len(taken)
        names = set(known) if whole else {node.attr for node in taken} & set(known)
        result = {known[attribute] for attribute in names}
        for attribute in names:
            if known[attribute] in self.lazy:  # insdel_paper.table
                inner = self.lazy[known[attribute]]
                deeper = {node.attr for node in nodes if isinstance(node, ast.Attribute)
                          and isinstance(node.value, ast.Attribute) and node.value.attr == attribute}  # fmt: skip
                result |= {inner[key] for key in deeper & set(inner)}
        return result

    def _with_parents(self, module: str) -> Iterator[str]:
        """A module and the packages around it, which are imported first."""
        parts = module.split(".")
        return (".".join(parts[:count]) for count in range(1, len(parts) + 1))

    def closure(self, modules: Iterable[str]) -> set[str]:
        """These modules and all that they import, directly or not."""
        result: set[str] = set()
        waiting = set(modules) & set(self.files)
        while waiting:
            module = waiting.pop()
            result.add(module)
            waiting |= self.imported_by(module) - result
        return result

    def of_chapter(self, text: str) -> set[str]:
        """The modules that a chapter (the text of its `.md`) depends on; all of them if a cell cannot be read."""
        cells = "\n".join(OPTIONS.sub("", cell) for cell in CODE.findall(text))
        plain = re.sub(r"^(\s*)[%!].*$", r"\1pass", cells, flags=re.MULTILINE)  # magics are no Python
        try:
            return self.closure({*RUNS_THEM, *self.imports(plain)})
        except SyntaxError:
            return set(self.files)

    def hash(self, modules: Iterable[str]) -> str:
        """A hash of the files of modules, and of the data files beside each package's `__init__`."""
        total = hashlib.sha256()
        for module in sorted(modules):
            path = self.files[module]
            beside = sorted(path.parent.iterdir()) if path.name == "__init__.py" else []
            for file in [path, *(other for other in beside if other.is_file() and other.suffix not in (".py", ".pyc"))]:
                total.update(f"{module}/{file.name}".encode())
                total.update(hashlib.sha256(file.read_bytes()).digest())
        return total.hexdigest()


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _attached(package: str, path: Path) -> dict[str, str]:
    """The names that an `__init__` hands on, by `lazy_loader.attach` or because it does nothing else: name → module."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "attach":
            given = {word.arg: ast.literal_eval(word.value) for word in node.keywords}
            names = {name: f"{package}.{name}" for name in given.get("submodules", ())}
            return names | {name: f"{package}.{module}" for module, held in given.get("submod_attrs", {}).items()
                            for name in held}  # fmt: skip
    handed = [node for node in body if isinstance(node, ast.ImportFrom) and not node.level and node.module]
    others = [node for node in body if node not in handed and not isinstance(node, ast.Expr | ast.Assign)]
    if others:
        return {}
    return {alias.asname or alias.name: str(node.module) for node in handed for alias in node.names
            if node.module != "__future__"}  # fmt: skip
