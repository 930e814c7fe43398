"""Every benchmark can be imported, and those of `attributes` and `annotation` run on a few drawn pictures."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn  # noqa: F401  # sets two environment variables when it is first imported
from PIL import Image

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_it_can_be_imported(name: str) -> None:
    import_module(name)


def picture(path: Path, rng: np.random.Generator, topic: int) -> None:
    """Stripes whose width and colour tell the topic."""
    path.parent.mkdir(parents=True, exist_ok=True)
    x = np.arange(64)[None, :, None] + rng.integers(0, 8)
    colour = np.array([60 + 60 * topic, 200 - 50 * topic, 120])[None, None]
    stripes = np.where((x // (2 + 3 * topic)) % 2, colour, 255 - colour) + rng.normal(0, 20, (48, 64, 3))
    Image.fromarray(stripes.clip(0, 255).astype(np.uint8)).save(path, quality=90)


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes in the layout of OSR."""
    folder = tmp_path_factory.mktemp("scenes")
    rng = np.random.default_rng(0)
    training = []
    for topic, name in enumerate(("coast", "forest", "street")):
        for number in range(9):
            picture(folder / f"images/{name}_{number}.jpg", rng, topic)
            training += [f"{name}_{number}.jpg"] * (number < 6)
    (folder / "train_images.txt").write_text("\n".join(training) + "\n")
    (folder / "relative_ordering.csv").write_text("attribute,coast,forest,street\nopen,3,2,1\nnatural,2,2,1\n")
    return folder


@pytest.fixture(scope="module")
def keywords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three topics in the layout of Corel 5K."""
    folder = tmp_path_factory.mktemp("keywords")
    rng = np.random.default_rng(0)
    (folder / "words").write_text("sea\nboat\ntree\nleaf\nroad\ncar\n")
    lines: dict[str, list[str]] = {"training_label": [], "test_label": []}
    for number in range(45):
        topic = number % 3
        picture(folder / f"images/{1000 + number}.jpeg", rng, topic)
        part = "test_label" if number >= 36 else "training_label"
        lines[part].append(f"{1000 + number} {2 * topic + 1} {2 * topic + 2}")
    for part, rows in lines.items():
        (folder / part).write_text("\n".join(rows) + "\n")
    return folder


def test_attributes(
    scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = import_module("attributes")
    monkeypatch.setattr(benchmark, "SPREAD", ("five",))
    parts = ["kernels", "rivals", "spread", "times", "nystroem"]
    arguments = ["--data", str(scenes), "--cache", str(tmp_path), "--splits", "1", "--sets", "five", "--parts", *parts]
    monkeypatch.setattr("sys.argv", ["attributes.py", *arguments])
    monkeypatch.setattr("attributes_data.PER_CLASS", 6)
    monkeypatch.setattr("attributes_rivals.COSTS", (1e-3, 1e-2))
    benchmark.main()
    found = last_line(capsys)
    assert found["attributes"] == ["natural", "open"]
    assert found["mean"]["rankmkl"] > 80
    assert {"equal_weights", "concatenation", "gist", "linear", "relative_tree", "local_pair"} <= set(found["mean"])


def test_attributes_choice(
    scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = import_module("attributes_choice")
    monkeypatch.setattr(benchmark, "FIVE", ("colour",))
    monkeypatch.setattr(benchmark, "TYPES", {"colour_whole": 0, "colour": 0, "colour_pyramid": 0})
    arguments = ["--data", str(scenes), "--cache", str(tmp_path), "--parts", "alone"]
    monkeypatch.setattr("sys.argv", ["attributes_choice.py", *arguments])
    benchmark.main()
    [(name, kernel)] = last_line(capsys)["five"]
    assert name.startswith("colour")
    assert kernel in benchmark.KERNELS


def test_annotation(
    keywords: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = import_module("annotation")
    arguments = ["--data", str(keywords), "--cache", str(tmp_path), "--sets", "jec", "--speed-pairs", "20000"]
    arguments += ["--rounds", "10", "--pairs", "20", "--depths", "10", "--repeats", "1"]
    monkeypatch.setattr("sys.argv", ["annotation.py", *arguments])
    benchmark.main()
    found = last_line(capsys)
    methods = (*benchmark.MEASURED, "average")
    for method in methods:
        assert found[method]["r"] > 50, method
    assert found["best"]["name"] in methods
    assert set(found["repeated"]) == {"rnn", "nw_rnn", "drawn_rnn"}
    monkeypatch.setattr("annotation_results.fit_methods", None)
    monkeypatch.setattr("sys.argv", ["annotation.py", *arguments, "--held-out"])
    benchmark.main()
    again = last_line(capsys)
    assert again["held_out_f1"] == found["held_out_f1"], "from the cache: nothing is fitted again"
    assert "rnn" not in again, "no test figure is shown"
