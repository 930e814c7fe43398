"""A cluster of separate processes without common files; parts of it are killed: the same bytes as without it.

A Dask scheduler and two workers on loopback, each in a directory of its own, describe pictures, train base models and
cross-validate systems, as `MEDIARANK_CLUSTER` asks. The client names its files by relative paths, which lead nowhere
on the workers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_annotation
import made_attributes
import made_clips
import made_retrieval
import numpy as np
import pandas as pd
import pytest
from waiting import wait_for

from mediarank import cluster as dask
from mediarank import store
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import train_pool
from mediarank.fanout import fan_out_iter
from mediarank.features.describe import extract_rows
from mediarank.features.fitting import fit
from mediarank.features.hue import Hue
from mediarank.features.network import Network
from mediarank.learners.pairwise.phi_rankers import RANKERS
from mediarank.media.shards import Media
from mediarank.systems.annotation.fit import fit as fit_annotation
from mediarank.systems.attributes.fit import fit as fit_attributes
from mediarank.systems.events.config import Config as EventsConfig
from mediarank.systems.events.fit import fit as fit_events
from mediarank.systems.model import Fitted
from mediarank.systems.retrieval.fit import fit as fit_retrieval
from mediarank.systems.retrieval.learned_methods import LEARNED_METHODS
from mediarank.types import FeatureMatrix, Judgments, MachineFault

COPIES = 8
TESTS = Path(__file__).parents[1]


class Cluster:
    """A scheduler and two workers, each in its own process without a nanny that would start it again."""

    def __init__(self, folder: Path) -> None:
        self._log = (folder / "cluster.log").open("w")
        told = folder / "scheduler.json"
        self._folder = folder
        common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(told)]
        self.processes = [self._start("dask_scheduler", folder / "scheduler", "--port", "0", *common)]
        wait_for(told.exists)
        self.address = store.read_json(told)["address"]
        self.start_workers()

    def start_workers(self) -> None:
        for name in ("one", "two"):
            home = self._folder / name
            alone = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(home)]
            self.processes.append(self._start("dask_worker", home, self.address, *alone, "--name", name))
        wait_for(lambda: len(self.workers()) == 2)

    def restart(self) -> None:
        """A new scheduler at the same address, with new workers; the old ones have no time to say goodbye."""
        for process in self.processes:
            process.kill()
            process.wait(30)
        port = self.address.rpartition(":")[2]
        home = self._folder / "scheduler"
        self.processes = [self._start("dask_scheduler", home, "--host", "127.0.0.1", "--port", port, "--no-dashboard")]
        wait_for(self._answers)
        self.start_workers()

    def _answers(self) -> bool:
        try:
            self.workers()
        except (OSError, RuntimeError):
            return False
        return True

    def _start(self, module: str, home: Path, *arguments: str) -> subprocess.Popen[bytes]:
        home.mkdir(exist_ok=True)
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
        path = os.pathsep.join(map(str, (TESTS.parent / "src", TESTS.parent, TESTS, TESTS / "systems")))
        variables = os.environ | {"OMP_NUM_THREADS": "1", "MEDIARANK_JOBS": "1", "PYTHONPATH": path}
        return subprocess.Popen(command, cwd=home, stdout=self._log, stderr=self._log, env=variables)

    def workers(self) -> dict[str, int]:
        """How many tasks each has before it, by its name."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            workers = client.scheduler_info(n_workers=-1)["workers"]
            return {
                workers[address]["name"]: len(tasks)
                for address, tasks in client.processing().items()
                if address in workers
            }

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait(200)
        self.processes = []
        self._log.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.end()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_worker_changes_nothing(cluster: Cluster, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = store.read_table(fitted / "data/frames/frames.parquet")
    more = [frames.assign(**{c: frames[c] + f"~{k}" for c in ("frame_id", "item_id")}) for k in range(COPIES)]
    frames = pd.concat(more, ignore_index=True)
    sounds = store.read_table(fitted / "data/frames/sounds.parquet")
    roles = store.read_roles(fitted / "data/splits/roles.parquet")
    roles.table["item_id"] += "~0"
    hue, network = Hue(words=8, items=4), Network(side=64)

    def describe(family: Hue | Network) -> FeatureMatrix:
        media = Media(Path("data/frames/media"))
        return extract_rows(fit(family, frames, sounds, media, roles), frames, sounds, media)

    monkeypatch.chdir(fitted)
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    alone, by_network = describe(hue), describe(network)
    victim, finished, killed_before_the_end = cluster.processes[1], threading.Event(), []

    def kill() -> None:
        """Once the worker is busy, for good: it neither finishes its task nor says goodbye."""
        wait_for(lambda: cluster.workers()["one"] >= 1)
        victim.kill()
        killed_before_the_end.append(not finished.is_set())

    killer = threading.Thread(target=kill)
    killer.start()
    monkeypatch.setenv("MEDIARANK_CLUSTER", cluster.address)
    shared = describe(hue)
    finished.set()
    killer.join()
    assert killed_before_the_end == [True]
    assert victim.wait(200) == -9
    assert list(cluster.workers()) == ["two"]
    assert len(alone) == COPIES * 72
    np.testing.assert_array_equal(shared.ids, alone.ids)
    assert shared.values.tobytes() == alone.values.tobytes()

    # The one that is left runs the network and trains base models, to the byte as well.
    assert describe(network).values.tobytes() == by_network.values.tobytes()
    ids = np.array([f"i{k:02d}" for k in range(60)])
    matrix = FeatureMatrix(ids, alone.names, alone.values[: len(ids)])
    judgments = Judgments(
        ("odd", "third"), tuple(ids), {"odd": dict.fromkeys(ids[1::2], 1.0), "third": dict.fromkeys(ids[::3], 1.0)}
    )
    config = SVMConfig(penalties=(2.0,), widths=(1.0,))
    there = train_pool("hue", matrix, judgments, ids.tolist(), config).pool.to_arrays()[0]
    monkeypatch.delenv("MEDIARANK_CLUSTER")
    here = train_pool("hue", matrix, judgments, ids.tolist(), config).pool.to_arrays()[0]
    assert there.keys() == here.keys()
    assert all(there[name].tobytes() == here[name].tobytes() for name in here)


SYSTEMS: dict[str, Callable[[], Fitted]] = {
    "attributes": lambda: fit_attributes(
        made_attributes.collection(), replace(made_attributes.CONFIG, gamma_factors=(0.5, 1.0))
    ),
    "attributes with landmarks": lambda: fit_attributes(
        made_attributes.collection(), replace(made_attributes.CONFIG, exact_up_to=20, landmarks=15)
    ),
    "annotation": lambda: fit_annotation(made_annotation.made_inputs(), made_annotation.QUICK),
    "retrieval": lambda: fit_retrieval(
        made_retrieval.inputs(), replace(made_retrieval.CONFIG, methods=(*RANKERS, *LEARNED_METHODS))
    ),
    "events": lambda: fit_events(made_clips.inputs(), EventsConfig(base_models=("gist_frames",), repeats=2)),
}
OF_ATTRIBUTES = {
    "pair_validation._scores_of_fold",
    "class_posterior._scores_of_fold",
    "level_posterior._scores_of_fold",
}
SENT = {
    "attributes": OF_ATTRIBUTES | {"methods._fitted"},
    "attributes with landmarks": OF_ATTRIBUTES | {"methods._fitted"},
    "annotation": {"methods._of_fold"},
    "retrieval": {"phi_rankers._judged"},
    "events": {"clip_svm._fit", "protocol._one_event"},
}
"""The functions that go to the workers."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:The classifier")
def test_systems_are_cross_validated_by_the_workers(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    alone = {name: fit_system() for name, fit_system in SYSTEMS.items()}
    monkeypatch.setenv("MEDIARANK_CLUSTER", cluster.address)
    on_cluster, sent = dask.on_cluster, Counter[str]()

    def counted(address: str, run: Any, function: Any, chunks: Sequence[Any], carry: Any) -> Iterator[list[Any]]:
        work = function.func
        for found in on_cluster(address, run, function, chunks, carry):
            sent[f"{work.__module__.rpartition('.')[2]}.{work.__name__}"] += 1
            yield found

    monkeypatch.setattr(dask, "on_cluster", counted)
    for name, fit_system in SYSTEMS.items():
        sent.clear()
        there, here = fit_system(), alone[name]
        assert set(sent) == SENT[name]
        assert min(sent.values()) > 1, "something to spread"
        arrays, facts = there.model.to_arrays()
        expected, expected_facts = here.model.to_arrays()
        assert facts == expected_facts
        assert arrays.keys() == expected.keys()
        assert [k for k in arrays if np.asarray(arrays[k]).tobytes() != np.asarray(expected[k]).tobytes()] == [], name
        assert there.scores.keys() == here.scores.keys()
        for method, scores in there.scores.items():
            for part, values in vars(scores).items():
                np.testing.assert_array_equal(values, getattr(here.scores[method], part))


def slowly(number: int) -> int:
    time.sleep(0.02)
    return number * number


@pytest.mark.slow
def test_a_scheduler_that_restarts_gets_the_rest(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_CLUSTER", cluster.address)
    done: list[int] = []
    for found in fan_out_iter(slowly, range(400), "squares", batch=4):
        done.append(found)
        if len(done) == 40:
            cluster.restart()
    assert done == [n * n for n in range(400)]


@pytest.mark.slow
def test_a_worker_that_hangs_is_not_waited_for(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its connection and its chunks, as on a machine that swaps; the other worker gets them, too."""
    monkeypatch.setenv("MEDIARANK_CLUSTER", cluster.address)
    hanging, done = cluster.processes[1], []
    try:
        for found in fan_out_iter(slowly, range(400), "squares", batch=4):
            done.append(found)
            if len(done) == 40:
                hanging.send_signal(signal.SIGSTOP)
        assert hanging.poll() is None
        assert done == [n * n for n in range(400)]
    finally:
        hanging.send_signal(signal.SIGCONT)


@pytest.mark.slow
def test_a_scheduler_that_stays_away_is_named(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_CLUSTER", cluster.address)
    monkeypatch.setattr(dask, "PATIENCE", 1.0)
    work = fan_out_iter(slowly, range(400), "squares", batch=4)
    assert next(work) == 0
    cluster.end()
    with pytest.raises(MachineFault, match=f"{cluster.address} went away and did not come back"):
        list(work)
