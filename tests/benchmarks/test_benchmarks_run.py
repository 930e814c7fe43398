"""Every benchmark can be imported; those of `attributes`, `annotation` and media run on a few drawn pictures."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn  # noqa: F401  # sets two environment variables when it is first imported
from PIL import Image
from scipy.io import savemat

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
    monkeypatch.setattr(benchmark, "LOSS_SETS", ("five",))
    parts = ["kernels", "losses", "rivals", "spread", "times", "nystroem"]
    arguments = ["--data", str(scenes), "--cache", str(tmp_path), "--splits", "1", "--sets", "five", "--parts", *parts]
    monkeypatch.setattr("sys.argv", ["attributes.py", *arguments])
    monkeypatch.setattr("attributes_data.PER_CLASS", 6)
    monkeypatch.setattr("attributes_rivals.COSTS", (1e-3, 1e-2))
    monkeypatch.setattr("attributes_rivals.ASKED", 10)
    benchmark.main()
    found = last_line(capsys)
    assert found["attributes"] == ["natural", "open"]
    assert found["mean"]["rankmkl"] > 80
    assert {"equal_weights", "concatenation", "gist", "linear", "relative_tree", "local_pair"} <= set(found["mean"])
    assert {"linear_five", "relative_forest_five", "fg_local_pair_five"} <= set(found["mean"])
    sampled = [found["rivals"][row]["open"] for row in ("local_pair", "fg_local_pair")]
    assert [(own["pairs"], own["of"]) for own in sampled] == [(10, 27), (10, 27)]
    assert "pairs" not in found["rivals"]["linear"]["open"], "all test pairs"
    assert {"levels", "local", "best", "rankmkl_l1_loss_l2_weights"} <= set(found["mean"])
    monkeypatch.setattr(benchmark, "fit", None)
    monkeypatch.setattr("sys.argv", ["attributes.py", *arguments[: arguments.index("--parts")], "--parts", "kernels"])
    benchmark.main()
    again = last_line(capsys)["accuracy"]
    assert all(found["accuracy"][row] == again[row] for row in again), "from the cache: nothing is fitted again"


def test_rivals_on_another_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In PubFig's layout, with one picture that is black and of another shape."""
    rng = np.random.default_rng(0)
    names = [f"{name}_{number}.jpg" for name in ("Ann", "Bob", "Eve") for number in range(8)]
    for place, name in enumerate(names):
        picture(tmp_path / "images" / name, rng, place // 8)
    Image.new("RGB", (90, 40)).save(tmp_path / "images" / names[0])
    people = {
        "im_names": np.array(names, dtype=object).reshape(-1, 1),
        "class_labels": np.repeat([1, 2, 3], 8).reshape(-1, 1),
        "attribute_names": np.array(["Smiling", "Young"], dtype=object).reshape(-1, 1),
        "relative_ordering": np.array([[1, 2, 3], [2, 1, 1]]),
        "used_for_training": np.tile([1, 1, 1, 1, 1, 0, 0, 0], 3).reshape(-1, 1),
    }
    savemat(tmp_path / "data.mat", people)
    arguments = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache"), "--parts", "rivals"]
    monkeypatch.setattr("sys.argv", ["attributes.py", *arguments])
    monkeypatch.setattr("attributes_rivals.COSTS", (1e-2, 1.0))
    import_module("attributes").main()
    found = last_line(capsys)
    assert found["attributes"] == ["Young", "Smiling"], "in the order of the paper's columns"
    for row, own in found["rivals"].items():
        assert own["Smiling"].get("standard_error", 0.0) == 0.0, "all 27 pairs are asked"
        assert found["mean"][row] > 80, row


def test_zappos_keeps_its_two_sets_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ordinary pairs, split in two ways, and fine-grained ones; images are in training and in test pairs."""
    rng = np.random.default_rng(0)
    shoes = [f"Shoes/Flats/Brand/{number}.{number % 3}.jpg" for number in range(18)]
    for number, shoe in enumerate(shoes):
        picture(tmp_path / "ut-zap50k-images" / shoe, rng, number % 3)
    data = tmp_path / "ut-zap50k-data"
    data.mkdir()
    ordered = [(a, b) for a in range(18) for b in range(18) if a % 3 > b % 3]
    rows = np.array([(a + 1, b + 1, 1, 1, 1, 1) for a, b in ordered], dtype=float)

    def cell(*values: Any) -> np.ndarray:
        made = np.empty((1, len(values)), dtype=object)
        made[0, :] = values
        return made

    nothing = np.zeros((0, 0))
    order = rng.permutation(len(rows)) + 1
    train, test = order[:80].reshape(-1, 1), order[80:].reshape(-1, 1)
    fours = {
        "trainIndexAll": cell(cell(train, test), *[cell(nothing, nothing)] * 3),
        "testIndexAll": cell(cell(test, train), *[cell(nothing, nothing)] * 3),
    }
    savemat(data / "image-path.mat", {"imagepath": np.array(shoes, dtype=object).reshape(-1, 1)})
    savemat(data / "zappos-labels.mat", {"mturkOrder": cell(rows, *[nothing] * 3)})
    savemat(data / "zappos-labels-fg.mat", {"mturkHard": cell(rows[::-1][:20], *[nothing] * 3)})
    savemat(data / "train-test-splits.mat", fours)
    splits = list(import_module("attributes_zappos").splits(tmp_path))
    assert [(name, len(known), len(asked)) for name, _, known, asked in splits] == [
        ("zap50k-1", 80, 28), ("zap50k-1", 28, 80), ("zap50k-2", 108, 20),
    ]  # fmt: skip
    assert {frozenset(pair) for pair in splits[0][2]}.isdisjoint(frozenset(pair) for pair in splits[0][3])
    arguments = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache"), "--sets", "five", "--parts", "kernels"]
    monkeypatch.setattr("sys.argv", ["attributes.py", *arguments, "--methods", "rankmkl", "local", "posterior"])
    import_module("attributes").main()
    found = last_line(capsys)
    for part in ("zap50k-1", "zap50k-2"):
        assert set(found[part]["five"]) == {"rankmkl", "local"}
        assert found[part]["five"]["rankmkl"] > 80


def test_published_rows_belong_to_their_collection() -> None:
    published = import_module("attributes_published")
    for source, rows in published.PUBLISHED.items():
        assert {len(row) for row in rows.values()} == {len(published.ATTRIBUTES[source])}
    faces = ["big lips", "White", "masculine-looking"]
    assert published.in_table_order("pubfig", faces) == ["masculine-looking", "White", "big lips"]
    shoes = list(published.ATTRIBUTES["zap50k-1"])
    assert published.published("zap50k-2", shoes).loc["published rankmkl", "open"] == 64.91
    assert published.published("osr", shoes).empty


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


def test_media(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["media.py", "--most", "3", "--rounds", "1"])
    import_module("media").main()
    assert min(last_line(capsys).values()) > 0


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
    assert set(found["f1"]) == set(methods)
    assert set(found["repeated"]) == {"rnn", "nw_rnn", "drawn_rnn"}
    monkeypatch.setattr("annotation_results.fit_methods", None)
    monkeypatch.setattr("sys.argv", ["annotation.py", *arguments, "--held-out"])
    benchmark.main()
    again = last_line(capsys)
    assert again["held_out_f1"] == found["held_out_f1"], "from the cache: nothing is fitted again"
    assert "rnn" not in again, "no test figure is shown"


@pytest.mark.parametrize(("source", "published"), [("iaprtc12", "28/29/250"), ("espgame", "22/25/224")])
def test_annotation_of_other_collections(
    source: str,
    published: str,
    keywords: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / source
    shutil.copytree(keywords / "images", folder / "images")
    words = (keywords / "words").read_text().split()
    for part in ("training", "test"):
        rows = [line.split() for line in (keywords / f"{part}_label").read_text().splitlines()]
        samples = [
            {"image_name": f"{name}.jpeg", "image_labels": [words[int(place) - 1] for place in own]}
            for name, *own in rows
        ]
        (folder / f"{part.removesuffix('ing')}.json").write_text(json.dumps({"samples": samples}))
    arguments = ["--data", str(folder), "--cache", str(tmp_path / "cache"), "--sets", "jec", "--speed-pairs", "0"]
    monkeypatch.setattr("sys.argv", ["annotation.py", *arguments, "--methods", "jec"])
    import_module("annotation").main()
    printed = capsys.readouterr().out
    assert published in printed
    assert json.loads(printed.splitlines()[-1])["f1"]["jec"] > 50
