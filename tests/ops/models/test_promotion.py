"""From candidate to champion: the rules on made values, then all of it with a real registry and a real server."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fitted_project
import numpy as np
import pandas as pd
import pytest
from waiting import wait_for

from mediarank import store
from mediarank.ops.models import model_registry, model_server, promotion
from mediarank.ops.models.champion_drift import Movement
from mediarank.ops.models.model_registry import CHALLENGER, CHAMPION, DIGEST_TAG, Registry
from mediarank.ops.models.packing import Packed, digest, pack, unpack
from mediarank.ops.models.promotion import Comparison, compare, promote
from mediarank.ops.models.promotion_config import PromotionConfig
from mediarank.ops.models.trial import TrialFailed, difference
from mediarank.ops.runs.results import decisions, decisions_markdown
from mediarank.ops.services.environment import child_environment
from mediarank.ops.versions.lockfile import Lock
from mediarank.types import ConfigError, DataError

CONFIG = PromotionConfig()
FAR = Movement("hog", "share", 0.9, 0.25)
NEAR = Movement("hog", "share", 0.1, 0.25)


def values(folder: Path, ap: dict[str, float]) -> Path:
    store.write_table(folder / "per_query.parquet", pd.DataFrame({"query": list(ap), "ap": list(ap.values())}))
    return folder


def test_only_shared_queries_are_compared(tmp_path: Path) -> None:
    old = values(tmp_path / "old", {f"q{k}": 0.5 for k in range(20)} | {"gone": 1.0})
    new = values(tmp_path / "new", {"came": 0.0} | {f"q{k}": 0.4 for k in reversed(range(20))})
    found = compare(old, new, "ap", CONFIG)
    assert (found.queries, found.champion, found.candidate) == (20, pytest.approx(0.5), pytest.approx(0.4))
    assert found.shared == pytest.approx(20 / 21)
    assert found.p < 0.001
    assert found.worse(CONFIG)
    assert not compare(new, old, "ap", CONFIG).worse(CONFIG), "better is not worse"


def test_without_a_shared_query_there_is_nothing_to_compare(tmp_path: Path) -> None:
    found = compare(values(tmp_path / "old", {"a": 1.0}), values(tmp_path / "new", {"b": 1.0}), "ap", CONFIG)
    assert (found.queries, found.shared) == (0, 0.0)
    decision = promotion.Decision("retrieval", "2", "1", False, ("Too few.",), found)
    assert json.loads(json.dumps(decision.to_json(), allow_nan=False))["comparison"]["p"] is None


def test_a_loss_within_noise_is_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.2, 50)
    old = values(tmp_path / "old", {f"q{k}": 0.5 for k in range(50)})
    new = values(tmp_path / "new", {f"q{k}": 0.5 + v for k, v in enumerate(noise - noise.mean() - 0.005)})
    found = compare(old, new, "ap", CONFIG)
    assert found.candidate < found.champion
    assert not found.worse(CONFIG)


def test_an_unknown_metric_is_named_with_the_known_ones(tmp_path: Path) -> None:
    folder = values(tmp_path, {"q": 1.0})
    with pytest.raises(ConfigError, match=r"'auc'.*there are ap"):
        compare(folder, folder, "auc", CONFIG)


@pytest.mark.parametrize(
    ("comparison", "moved", "scheduled", "words"),
    [
        (Comparison("ap", 100, 1.0, 0.5, 0.5, 1.0), (), True, []),
        (Comparison("ap", 100, 1.0, 0.5, 0.4, 0.01), (), False, ["worse than the champion beyond noise"]),
        (Comparison("ap", 100, 1.0, 0.5, 0.4, 0.06), (), True, []),
        (Comparison("ap", 5, 0.05, 0.5, 0.9, 0.5), (), True, ["too few to compare"]),
        (
            Comparison("ap", 100, 1.0, 0.5, 0.5, 1.0),
            (FAR, NEAR),
            True,
            ["The data drifted: hog (share 0.9, limit 0.25)."],
        ),
        (Comparison("ap", 100, 1.0, 0.5, 0.5, 1.0), (FAR,), False, []),
    ],
    ids=["as good", "worse", "noise", "few", "drift, scheduled", "drift, by hand"],
)
def test_what_speaks_against(comparison: Comparison, moved: Any, scheduled: bool, words: list[str]) -> None:
    found = promotion._objections(comparison, moved, CONFIG, scheduled)
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))


def test_a_lock_of_two_runs_is_refused() -> None:
    made = {"outs": [{"path": "data/frames", "md5": "new"}], "deps": [{"path": "src", "md5": "1"}]}
    lock = Lock(Path(), {"frames": made, "features": {"deps": [{"path": "data/frames", "md5": "new"}]}}, {})
    lock.require_one_run()
    lock = Lock(Path(), {"frames": made, "features": {"deps": [{"path": "data/frames", "md5": "old"}]}}, {})
    with pytest.raises(DataError, match=r"data/frames .* features read it"):
        lock.require_one_run()


def test_scores_may_differ_if_the_order_does_not() -> None:
    scores = np.array([[0.0, 1.0, 2.0, 5.0], [3.0, 2.0, 2.0, 0.0]])
    assert difference(scores, scores) == 0.0
    assert difference(scores, scores + 1e-5) < 1e-4
    assert difference(scores, np.exp(scores)) == 0.0
    turned = scores[:, [1, 0, 2, 3]]
    assert difference(scores, turned) == pytest.approx(6 / 16), "three pairs of the second row, either way"
    assert difference(np.zeros((1, 2)), np.array([[0.0, 1.0]])) == pytest.approx(0.5), "a tie that is none any more"


@pytest.fixture(scope="module")
def packed(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Packed:
    return pack(fitted / "data", "retrieval", fitted_project.COPYING, tmp_path_factory.mktemp("packed") / "packed")


@pytest.fixture(scope="module")
def project(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace whose first version has been promoted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDIARANK_JOBS", "1")
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        root = tmp_path_factory.mktemp("promotion") / "project"
        shutil.copytree(fitted, root)
        said: list[str] = []
        first = promote(root, fitted_project.COPYING, CONFIG, scheduled=True, say=said.append)
        assert [(d.candidate, d.champion, d.promoted) for d in first] == [("1", None, True)]
        assert said == ["retrieval: version 1 promoted. " + " ".join(first[0].why)]
        yield root


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worse_version_stays_challenger_until_it_is_forced(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(project)
    first = registry.bearing("retrieval", CHAMPION)
    assert first is not None
    # What killed processes leave: of ours, and of MLflow's copying.
    left = [project / ".mediarank/.packing.abcdefgh", registry.folder(first).parent / ".artifact.uploading.abcdefgh"]
    for path in left:
        path.write_bytes(b"half")
    again = promote(project, fitted_project.COPYING, CONFIG)
    assert not any(path.exists() for path in left)
    assert again[0].why == ("It is the champion already.",)
    assert len(registry.versions("retrieval")) == 1, "a version is registered once"
    shutil.rmtree(project / "data")
    monkeypatch.setattr(fitted_project, "CONFIG", replace(fitted_project.CONFIG, serve="arow"))
    fitted_project.make(project, noise=1.0, seed=1)
    kept = promote(project, fitted_project.COPYING, CONFIG, scheduled=True)[0]
    assert (kept.candidate, kept.champion, kept.promoted) == ("2", "1", False)
    assert kept.comparison is not None
    assert kept.comparison.candidate < kept.comparison.champion == 1.0
    assert "worse than the champion beyond noise: ap" in " ".join(kept.why)
    aliases = {v.number: v.aliases for v in registry.versions("retrieval")}
    assert aliases == {"1": (CHAMPION,), "2": (CHALLENGER,)}
    assert decisions(project)[0]["promoted"] is False
    challenger = registry.bearing("retrieval", CHALLENGER)
    assert challenger is not None
    assert store.read_json(registry.folder(challenger).parent / "promotion.json") == kept.to_json()
    assert "| scores | Kolmogorov-Smirnov distance |" in decisions_markdown(project)
    champion, moved = promotion.champion_drift(project, "retrieval", CONFIG)
    assert champion.number == "1"
    assert [m.what for m in moved] == ["items", "classes", "resolution of images", "hue", "lab", "scores"]
    assert moved[-1].value > 0, "another model scores in another way"

    forced = promote(project, fitted_project.COPYING, CONFIG, force=True)[0]
    assert forced.promoted
    assert "forced" in forced.why[-1]
    aliases = {v.number: v.aliases for v in registry.versions("retrieval")}
    assert aliases == {"1": (), "2": (CHAMPION,)}

    # A model that was damaged on its way is noticed by its digest, and else by ranking with it; nothing forces it.
    version = registry.bearing("retrieval", CHAMPION)
    assert version is not None
    registry.call_no_more(CHAMPION, "retrieval")
    weights = registry.packed(version) / "systems/retrieval/model.npz"
    arrays = store.read_arrays(weights)
    store.write_arrays(weights, {**arrays, version.method: arrays[version.method][::-1]})
    with pytest.raises(TrialFailed, match="damaged or was changed"):
        promote(project, fitted_project.COPYING, CONFIG, force=True)
    with pytest.raises(DataError, match="damaged or was changed"):
        registry.verified(version)
    registry.note(version, DIGEST_TAG, digest(registry.packed(version)))
    with pytest.raises(
        TrialFailed, match=r"(?s)does not load and rank in a fresh process.*ranks otherwise than the stage"
    ):
        promote(project, fitted_project.COPYING, CONFIG, force=True)
    assert registry.bearing("retrieval", CHAMPION) is None
    assert decisions(project) == []
    store.write_arrays(weights, arrays)
    registry.note(version, DIGEST_TAG, version.digest)
    registry.call(CHAMPION, version)


def test_the_signature_names_every_field(packed: Packed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Packed, "keeps_frames", lambda _, name: name == "hue")
    inputs = {column.name: str(column.type) for column in model_registry._signature(packed).inputs}
    assert list(inputs) == ["item", "image", "clip", "sound", "lab", "hue"]
    assert inputs["lab"] == "Array(double)"
    assert inputs["hue"] == "Array(Array(double))"


def commands(project: Path, port: int) -> dict[str, list[str]]:
    registry = Registry(project)
    version = registry.bearing("retrieval", CHAMPION)
    assert version is not None
    where = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--env-manager", "local"]
    return {
        "mediarank": model_server.command(registry.verified(version), version.digest, port),
        "mlflow": [
            sys.executable,
            "-m",
            "mlflow",
            "models",
            "serve",
            "-m",
            "models:/mediarank-retrieval@champion",
            *where,
        ],
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["mediarank", "mlflow"])
def test_the_champion_is_served_over_http(project: Path, kind: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    uri = Registry(project).uri
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # mlflow starts uvicorn by its name
    variables = {**child_environment(project), "PATH": path, "MLFLOW_TRACKING_URI": uri, "MLFLOW_REGISTRY_URI": uri}
    with (project / "served.log").open("w") as log:
        server = subprocess.Popen(
            commands(project, port)[kind], env=variables, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(lambda: server.poll() is not None or _answers(port))
        assert server.poll() is None, (project / "served.log").read_text()
        item = "images/sea_002.png"
        by_id = _ask(port, {"item": item}, count=100)
        assert [(hit["rank"], hit["query"]) for hit in by_id] == [(k, item) for k in range(1, 72)], "all but itself"
        content = base64.b64encode((project / "data/raw/media" / item).read_bytes()).decode()
        packed = unpack(Registry(project).packed(Registry(project).versions("retrieval")[0]))
        vectors = {name: matrix.rows([item])[0].tolist() for name, matrix in packed.collection.items()}
        for record in ({"image": content}, {"clip": content}, {"sound": content}, vectors):
            found = [hit["name"] for hit in _ask(port, record, count=100)]
            assert [name for name in found if name != item] == [hit["name"] for hit in by_id]
            assert len(found) == 72
        with pytest.raises(urllib.error.HTTPError) as refused:
            _ask(port, {"item": "images/nosuch.png"}, count=3)
        assert refused.value.code in (400, 500)
        assert "not in the collection" in refused.value.read().decode()
    finally:
        server.terminate()
        server.wait(200)


@pytest.mark.slow
def test_without_a_champion_there_is_nothing_to_serve_or_compare_with(project: Path) -> None:
    with pytest.raises(DataError, match="mediarank promote makes one"):
        model_server.serve(project, "concepts", 5001)
    with pytest.raises(DataError, match="mediarank promote makes one"):
        promotion.champion_drift(project, "concepts", CONFIG)


def test_what_can_not_be_served_is_said(fitted: Path) -> None:
    with pytest.raises(ConfigError, match=r"concepts can't be promoted"):
        promote(fitted, fitted_project.COPYING, CONFIG, systems=["concepts"])


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _ask(port: int, record: dict[str, Any], count: int) -> list[dict[str, Any]]:
    body = json.dumps({"dataframe_records": [record], "params": {"count": count}}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - loopback
        found: list[dict[str, Any]] = json.load(answer)["predictions"]
        return found
