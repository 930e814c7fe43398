"""The files of this package that a module needs: its imports, their imports, and so on.

Imports are read from the source text, so nothing is run and imports inside functions count. `mediarank wire` lists the
result as the dependencies of a stage, and the tests of the architecture check the direction of imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

PACKAGE: Final = "mediarank"
SOURCE: Final = Path(__file__).parents[2]
"""The folder of the package `mediarank`."""


def imports(path: Path, typing: bool = True) -> set[str]:
    """Every module or name that a file imports, by its full dotted name.

    typing : whether to count imports under `if TYPE_CHECKING:`, which are never run
    """
    found: set[str] = set()
    for node in _statements(ast.parse(path.read_text()).body, typing):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _statements(body: Iterable[ast.AST], typing: bool) -> Iterator[ast.AST]:
    """The statements and those inside them, in no certain order; expressions hold no imports and are not looked at."""
    queue = list(body)
    while queue:
        node = queue.pop()
        yield node
        if not isinstance(node, ast.If) or typing or not _is_type_checking(node.test):
            queue += getattr(node, "body", ())
        for inner in ("orelse", "finalbody", "handlers", "cases"):
            queue += getattr(node, inner, ())


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


@dataclass(frozen=True)
class Imports:
    """The imports between the files of one package folder; each file is read once.

    source : the folder of the package `mediarank`
    registries : files that only map names to modules; neither they nor their imports are followed, because a stage that
        uses a name has that module among its entries
    """

    source: Path = SOURCE
    registries: frozenset[Path] = frozenset()
    _known: dict[Path, frozenset[Path]] = field(default_factory=dict, repr=False)

    def of(self, path: Path) -> frozenset[Path]:
        """Files of the package that a file's imports run: the modules, and the `__init__.py` above them."""
        if path not in self._known:
            names = [name.split(".")[1:] for name in imports(path, typing=False) if name.split(".")[0] == PACKAGE]
            stems = {self.source.joinpath(*parts[:depth]) for parts in names for depth in range(len(parts) + 1)}
            files = [file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")]
            self._known[path] = frozenset(file for file in files if file.is_file())
        return self._known[path]

    def closure(self, entries: Iterable[Path]) -> set[Path]:
        """The entries and all files that they import, directly or not; `__init__.py` without code is left out."""
        queue, found = list(entries), set[Path]()
        while queue:
            path = queue.pop()
            if path not in found and path not in self.registries:
                found.add(path)
                queue += self.of(path)
        return {path for path in found if path in self.modules}

    @cached_property
    def modules(self) -> frozenset[Path]:
        """All files of the package that hold code."""
        return frozenset(path for path in self.source.rglob("*.py") if path.name != "__init__.py" or _has_code(path))

    @cached_property
    def _inside(self) -> dict[Path, set[Path]]:
        """The modules below each folder."""
        found: dict[Path, set[Path]] = {}
        for path in self.modules:
            for folder in path.parents:
                found.setdefault(folder, set()).add(path)
        return found

    def gathered(self, files: Iterable[Path]) -> list[Path]:
        """The files, sorted; where all modules of a folder are among them, the folder instead."""
        wanted = set(files)
        whole: set[Path] = set()
        for folder in {parent for path in wanted for parent in path.parents if self.source in parent.parents}:
            inside = self._inside[folder]
            if len(inside) > 1 and inside <= wanted:
                whole.add(folder)
        listed = {path for path in wanted | whole if whole.isdisjoint(path.parents)}
        return sorted(listed)


def _has_code(path: Path) -> bool:
    """Whether a file has more than a docstring and constants such as `__version__`."""
    body = ast.parse(path.read_text()).body
    return not all(isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Constant) for node in body)
