"""The commands about the collection, on a small folder of generated files, read by the functions of the stages."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from click.testing import Result
from making_media import encoded, scene
from small_sources import write
from typer.testing import CliRunner

from mediarank import config, store
from mediarank.cli import app
from mediarank.cli.init import with_collection
from mediarank.collections import folder
from mediarank.collections.exporting import exported
from mediarank.stages import collect, frames, manifest

PARAMS = Path(__file__).parents[2] / "params.yaml"


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "400"}).invoke(app, list(words))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Twelve pictures in dated folders: two of one scene, one of them small; a damaged file with markup in its name."""
    place = tmp_path / "photos"
    pictures = {f"2019/07/{k:02d}.jpg": encoded(scene(k, 240, 320), "JPEG", quality=95) for k in range(10)}
    pictures["2021/07/small.jpg"] = encoded(scene(3, 240, 320)[::2, ::2], "JPEG", quality=60)
    pictures["2021/07/x[/red].jpg"] = b"damaged"
    labels = "file;tags\n00.jpg;Sea|boat\n01.jpg;Sea\ngone.jpg;Sea\n"
    return write(place, {**pictures, "tags.csv": labels, "notes.txt": "notes"})


@pytest.fixture
def project(tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "params.yaml").write_text(with_collection(PARAMS.read_text(), "auto", photos.as_posix()))
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def collected(project: Path) -> Path:
    params = config.load()
    collect.run(params.collection, project / "data", project / "cache")
    manifest.run(params.manifest, project / "data", project / "labels/journal", project / ".mediarank/cache")
    return project


def decode(project: Path) -> None:
    params = config.load()
    frames.run(params.frames, params.manifest.limits, project / "data", project / ".mediarank/cache/frames")


def test_quarantine_before_anything_ran_says_what_to_run(project: Path) -> None:
    assert "dvc repro manifest" in str(run("quarantine").exception)


def test_quarantine_shows_names_with_markup_needs_and_what_was_skipped(collected: Path) -> None:
    shown = run("quarantine")
    assert shown.exit_code == 0, shown.exception
    assert "2021/07/x[/red].jpg" in shown.output
    assert "an intact copy of the file" in shown.output
    assert "gone.jpg" in shown.output
    assert "the name of a file" in shown.output
    assert ".txt" in shown.output
    assert "as the stage manifest found it" in shown.output


def test_quarantine_is_the_current_one_when_frames_is_of_an_earlier_run(collected: Path) -> None:
    decode(collected)
    assert "as the stages manifest and frames found it" in run("quarantine").output
    later = store.read_quarantine(collected / "data/frames/quarantine.csv")
    store.write_csv(collected / "data/frames/quarantine.csv", later.assign(item_id="of/an/earlier/run.jpg"))
    shown = run("quarantine").output
    assert "earlier" not in shown
    assert "2021/07/x[/red].jpg" in shown


def test_names(collected: Path) -> None:
    assert run("names").output.split() == ["keyword", "2", "Sea", "keyword", "1", "boat"]
    assert run("names", "Keywords").output == run("names").output
    assert "no labels of this kind" in run("names", "events").output


def test_duplicates_with_the_best_shot_first(collected: Path) -> None:
    decode(collected)
    output = run("duplicates", "--to", "duplicates.csv").output
    table = store.read_csv(Path("duplicates.csv"), ("group", "item", "best"))
    assert table["item"].tolist() == ["2019/07/03.jpg", "2021/07/small.jpg"]
    assert table["best"].tolist() == ["True", "False"]
    assert "1 groups of 2 pictures" in output


@pytest.mark.parametrize("form", ["csv", "coco", "label-studio", "xmp"])
def test_an_export_is_read_back(collected: Path, photos: Path, form: str) -> None:
    before = {path: path.read_bytes() for path in photos.rglob("*") if path.is_file()}
    assert run("export", form, "out").exit_code == 0
    assert before == {path: path.read_bytes() for path in photos.rglob("*") if path.is_file()}
    (photos / "tags.csv").unlink()
    for path in Path("out").rglob("*"):
        if path.is_file():
            (photos / path.relative_to("out")).write_bytes(path.read_bytes())
    again = folder.read(photos).labels["keywords"]
    assert set(again.itertuples(index=False, name=None)) == {
        ("2019/07/00.jpg", "Sea"), ("2019/07/00.jpg", "boat"), ("2019/07/01.jpg", "Sea"),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "coco", "label-studio", "xmp"])
def test_suggestions_are_exported_with_probabilities_and_are_not_read_back_as_labels(
    collected: Path, photos: Path, form: str
) -> None:
    labels = store.read_labels(collected / "data/manifest/labels")
    listed = store.read_manifest(collected / "data/manifest/manifest.parquet")
    rows = [("2019/07/02.jpg", "Sea", 0.8312), ("2019/07/02.jpg", "dune & <b>", 0.5), ("2019/07/03.jpg", "boat", None)]
    table = pd.DataFrame(rows, columns=["item", "keyword", "probability"])
    files = dict(exported(labels, listed, form, table))
    whole = b"".join(files.values()).decode()
    assert "0.83" in whole
    assert "dune" in whole
    assert "dune" not in b"".join(dict(exported(labels, listed, form)).values()).decode()
    (photos / "tags.csv").unlink()
    write(photos, files)
    assert set(folder.read(photos).labels["keywords"].itertuples(index=False, name=None)) == {
        ("2019/07/00.jpg", "Sea"), ("2019/07/00.jpg", "boat"), ("2019/07/01.jpg", "Sea"),
    }  # fmt: skip


def test_an_export_never_goes_into_the_collection_or_over_a_file(collected: Path, photos: Path) -> None:
    assert "never written to" in str(run("export", "xmp", str(photos / "2019")).exception)
    assert "known formats" in str(run("export", "excel", "out").exception)
    run("export", "csv", "out")
    assert "is not overwritten" in str(run("export", "csv", "out").exception)


def test_init_looks_asks_and_sets_the_collection(tmp_path: Path, photos: Path, project: Path) -> None:
    (project / "params.yaml").write_text(PARAMS.read_text())
    shown = run("init", str(photos))
    assert shown.exit_code == 1  # nobody answered
    for fact in ("11 images", "notes.txt", "tags.csv: separated by semicolons", "classes: none from folders",
                 "2 of 12 files have keywords", "can't be used", "Near-duplicates: 1 groups", "Cost:"):  # fmt: skip
        assert fact in shown.output, fact
    assert "by the demo collection's times" in shown.output
    assert config.load().collection.source == "demo"
    assert run("init", str(photos), "--yes").exit_code == 0
    assert config.load().collection.path == photos.as_posix()
    assert config.load().collection.source == "auto"
    assert "# stage collect -> data/raw" in (project / "params.yaml").read_text()
    assert f"collection.path is {photos}" in run("init").output


@pytest.mark.parametrize(
    ("files", "given", "message"),
    [
        ({}, "gone", "does not exist"),
        ({}, "~/no such folder at all", "does not exist"),
        ({"a.jpg": b""}, "place/a.jpg", "is a file"),
        ({"a.txt": b""}, "place", r"holds no image, clip or sound (1 .txt)"),
        ({"a.jpg": b""}, "place", "a run needs 10 or more"),
    ],
)
def test_init_explains_what_can_not_be_a_collection(
    project: Path, files: dict[str, bytes], given: str, message: str
) -> None:
    write(project.parent / "elsewhere/place", files)
    place = given if given.startswith("~") else str(project.parent / "elsewhere" / given)
    assert message in str(run("init", place).exception)
    assert "holds this project itself" in str(run("init", str(project.parent)).exception)


def test_init_estimates_fitting_by_the_last_run(collected: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "2")
    store.write_json(collected / ".mediarank/times.json", {"systems-retrieval": 4800.0, "report": 1.0}, sealed=False)
    shown = run("init", str(photos)).output
    assert "by this project's last run's times" in shown
    assert "fitting 40 minutes" in shown


def test_init_checks_a_tilde_in_params(project: Path) -> None:
    (project / "params.yaml").write_text(with_collection(PARAMS.read_text(), "auto", "~/Pictures"))
    assert "DVC does not expand ~" in str(run("init").exception)


@pytest.mark.parametrize("path", ["/a/b c", "/a: b", "/a#b", '/a"b', "/日本/x", "C:\\x", "/a\\1"])
def test_params_are_edited_in_place(path: str) -> None:
    text = PARAMS.read_text()
    edited = with_collection(text, "osr", path)
    before, after = yaml.safe_load(text), yaml.safe_load(edited)
    assert after["collection"] == {**before["collection"], "source": "osr", "path": path}
    assert {k: v for k, v in after.items() if k != "collection"} == {
        k: v for k, v in before.items() if k != "collection"
    }
    assert with_collection(edited, "osr", path) == edited
    bare = with_collection("collection:\nfeatures: {}\n", "auto", path)
    assert yaml.safe_load(bare) == {"collection": {"source": "auto", "path": path}, "features": {}}


def test_collections_says_how_a_folder_is_read(photos: Path) -> None:
    output = run("collections", str(photos)).output
    assert output.splitlines()[0] == "folder"
    assert "note: tags.csv: separated by semicolons" in output


def test_exports_are_what_the_programs_expect(collected: Path) -> None:
    run("export", "coco", "out")
    content = json.loads(Path("out/coco.json").read_text())
    assert [c["name"] for c in content["categories"]] == ["Sea", "boat"]
    assert {"id", "image_id", "category_id", "iscrowd"} <= content["annotations"][0].keys()
    assert content["images"][0] == {"id": 1, "file_name": "2019/07/00.jpg", "width": 320, "height": 240}


def test_an_original_comes_back_by_any_of_its_names(collected: Path, photos: Path) -> None:
    item = "2021/07/x[/red].jpg"
    for number, name in enumerate((item, str(photos / item))):
        said = run("original", name, "--to", f"out{number}.jpg")
        assert said.exit_code == 0, said.output
        assert (collected / f"out{number}.jpg").read_bytes() == b"damaged"
    assert "exists" in str(run("original", item, "--to", "out0.jpg").exception)
    assert "neither an item" in str(run("original", "gone.jpg", "--to", "gone.jpg").exception)
