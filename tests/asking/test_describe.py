"""A file from outside is described bit by bit as the pipeline describes an item.

The originals need what the pipeline does to them: a PNG the JPEG step, a photo its EXIF rotation and a smaller size, a
clip several frames and its sound, a sound its new sample rate.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest
from making_media import scene, tone, write_clip, write_sound
from PIL import Image
from typer.testing import CliRunner

from mediarank import store
from mediarank.asking.describe import Copying, compare_with_items, describe, look
from mediarank.asking.workspace import Workspace
from mediarank.cli import app
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.hog import Hog
from mediarank.features.hog3d import Hog3d
from mediarank.features.mfcc import MfccStatistics
from mediarank.features.sift import Sift
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.stages import features, frames
from mediarank.types import DataError, Manifest, Roles

FAMILIES = {
    "moments": ColourMoments(),
    "hog": Hog(),
    "hog_frames": Hog(pool="none"),
    "words": Sift(words=8, patches=(16,)),
    "motion": Hog3d(),
    "sound": MfccStatistics(),
}
KINDS = {"photo.jpg": "image", "drawing.png": "image", "small.jpg": "image", "clip.mp4": "clip", "beep.wav": "sound"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection as the stages `frames` and `features` leave it."""
    root = tmp_path_factory.mktemp("described")
    media = root / "data/raw/media"
    media.mkdir(parents=True)
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(scene(1, 500, 700)).save(media / "photo.jpg", quality=90, exif=turned)
    Image.fromarray(scene(2, 90, 120)).save(media / "drawing.png")
    Image.fromarray(scene(3, 80, 80)).save(media / "small.jpg", quality=95)
    write_clip(media / "clip.mp4", (scene(k) for k in range(30)), sound=tone(1.2, 48000))
    write_sound(media / "beep.wav", tone(1.0, 44100, 880))
    rows = []
    for item, kind in sorted(KINDS.items()):
        digest = hashlib.sha256((media / item).read_bytes()).hexdigest()
        rows.append((item, item, kind, 0, 0, 0.0, 0.0, kind != "image", digest, item, "ok", ""))
    columns = ["item_id", "path", "kind", "width", "height", "seconds", "fps", "has_sound", "sha256", "group_id"]
    manifest = Manifest(pd.DataFrame(rows, columns=[*columns, "status", "reason"]))
    data = root / "data"
    store.write_manifest(data / "manifest/manifest.parquet", manifest)
    made = frames.build_frames(
        manifest, media, data / "frames/media", FramesConfig(max_side=160), Limits(), root / "cache"
    )
    store.write_table(data / "frames/frames.parquet", made.frames)
    store.write_table(data / "frames/sounds.parquet", made.sounds)
    roles = pd.DataFrame({"item_id": sorted(KINDS), "group_id": sorted(KINDS), "role": "base", "fold": 0})
    store.write_roles(data / "splits/roles.parquet", Roles(roles))
    for name, family in FAMILIES.items():
        features.run(name, family, data, root / "cache")
    return root


@pytest.fixture
def space(root: Path) -> Workspace:
    return Workspace(root / "data", lambda: Copying(FramesConfig(max_side=160), Limits()))


def test_the_difference_is_zero_for_every_kind_and_family(root: Path, space: Workspace, tmp_path: Path) -> None:
    copies = []
    for item in KINDS:
        copies.append(tmp_path / f"copy of {item}")
        copies[-1].write_bytes((root / "data/raw/media" / item).read_bytes())
    found = compare_with_items(space, copies, tuple(FAMILIES))
    assert {(one.item, one.feature) for one in found} >= {
        *((item, "words") for item in ("photo.jpg", "drawing.png", "small.jpg", "clip.mp4")),
        ("clip.mp4", "hog_frames"),
        ("clip.mp4", "motion"),
        ("clip.mp4", "sound"),
        ("beep.wav", "sound"),
    }
    assert {one.difference for one in found} == {0.0}
    [several] = [one for one in found if (one.item, one.feature) == ("clip.mp4", "hog_frames")]
    assert several.rows > 1


def test_a_file_that_is_not_in_the_collection_has_no_difference(space: Workspace, tmp_path: Path) -> None:
    Image.new("RGB", (64, 48), "navy").save(tmp_path / "new.png")
    found = compare_with_items(space, [tmp_path / "new.png"], ("moments", "sound"))
    assert [(one.feature, one.item, one.difference) for one in found] == [("moments", None, None)]


def test_what_is_no_media_is_refused_with_its_name(space: Workspace, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a picture")
    with pytest.raises(DataError, match=r"notes\.txt"):
        describe(space, {"file": tmp_path / "notes.txt"}, ("moments",))
    with pytest.raises(DataError, match="not a file"):
        compare_with_items(space, [tmp_path / "gone.jpg"], ("moments",))


def test_look_gives_the_middle_frame_and_the_sound(root: Path) -> None:
    picture, sound = look(root / "data/raw/media/clip.mp4", Copying())
    assert picture is not None
    assert sound is not None
    assert look(root / "data/raw/media/beep.wav", Copying())[0] is None


def test_the_command_prints_json(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    listed = ", ".join(f"{name}: {{family: {kind}}}" for name, kind in (("moments", "colour_moments"), ("hog", "hog")))
    (root / "params.yaml").write_text(f"features: {{{listed}}}\nframes: {{max_side: 160}}\n")
    result = CliRunner().invoke(app, ["describe", "data/raw/media/photo.jpg", "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)
    assert [(one["feature"], one["difference"]) for one in found] == [("moments", 0.0), ("hog", 0.0)]
    assert "photo.jpg" in CliRunner().invoke(app, ["describe", "data/raw/media/photo.jpg"]).stdout
