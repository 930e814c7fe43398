"""The import closure of a made package, whose answer is known, and of the real one, against what Python loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mediarank.ops.runs.import_closure import SOURCE, Imports, imports

FILES = {
    "__init__.py": '"""A package."""\n\n__version__ = "1"\n',
    "top.py": "from mediarank.low import one\n\ndef late():\n    import mediarank.low.two\n",
    "low/__init__.py": "",
    "low/one.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mediarank.low import three\n",
    "low/two.py": "import numpy\n",
    "low/three.py": "",
    "rich/__init__.py": "from mediarank.rich.inside import thing\n",
    "rich/inside.py": "from mediarank.low.three import x\n",
    "rich/other.py": "",
    "registry.py": "from mediarank.rich import other\n",
    "deep.py": """
class Some:
    async def late(self):
        try:
            import mediarank.low.one
        except* ValueError:
            with open("x") as x, (lambda: x)():
                import mediarank.low.two
        else:
            match 1:
                case 1 if x:
                    import mediarank.low.three
        finally:
            while False:
                pass
            else:
                for _ in (): import mediarank.top
        if TYPE_CHECKING: pass
        elif 1:
            import mediarank.rich.other
""",
    "asks.py": "from mediarank.registry import look_up\nfrom mediarank.rich.other import x\n",
}


RICH = ("rich/__init__.py", "rich/inside.py", "rich/other.py")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "mediarank" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "mediarank"


def names(package: Path, files: set[Path] | list[Path]) -> set[str]:
    return {path.relative_to(package).as_posix() for path in files}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("low/two.py", {"low/two.py"}),
        ("low/one.py", {"low/one.py"}),  # imports for type checkers are never run
        ("top.py", {"top.py", "low/one.py", "low/two.py"}),  # imports in functions are
        ("rich/other.py", {"rich/other.py"}),
        ("deep.py", {"deep.py", "top.py", *(f"low/{n}.py" for n in ("one", "two", "three")), *RICH}),
        # Importing a module runs the packages above it, and what they import.
        ("asks.py", {"asks.py", "rich/__init__.py", "rich/inside.py", "rich/other.py", "low/three.py"}),
    ],
)
def test_closure(package: Path, entry: str, expected: set[str]) -> None:
    found = Imports(package, frozenset([package / "registry.py"])).closure([package / entry])
    assert names(package, found) == expected


def test_a_folder_is_listed_when_all_of_it_is_used(package: Path) -> None:
    known = Imports(package)
    all_low = {package / f"low/{name}.py" for name in ("one", "two", "three")}
    assert names(package, known.gathered(all_low)) == {"low"}
    assert names(package, known.gathered({*all_low, package / "top.py"} - {package / "low/two.py"})) == {
        "low/one.py", "low/three.py", "top.py",
    }  # fmt: skip


def test_imports_for_type_checkers_count_when_asked_for(package: Path) -> None:
    assert "mediarank.low.three" in imports(package / "low/one.py")
    assert "mediarank.low.three" not in imports(package / "low/one.py", typing=False)


@pytest.mark.parametrize("module", ["stages.frames", "systems.annotation.fit", "systems.concepts.report"])
def test_nothing_is_loaded_that_the_closure_lacks(module: str) -> None:
    script = (
        f"import sys, mediarank.{module}\n"
        "print(*(m.__file__ for n, m in list(sys.modules.items()) if n.split('.')[0] == 'mediarank'), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {Path(line).resolve() for line in done.stdout.splitlines()}
    known = Imports()
    found = known.closure([SOURCE.joinpath(*module.split(".")).with_suffix(".py")])
    assert loaded & known.modules <= found
    assert len(found) > 5
