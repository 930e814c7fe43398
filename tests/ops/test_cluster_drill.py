"""A cluster of separate processes without common files; parts of it are killed: the same bytes as without it.

A Dask scheduler and two workers on loopback, each in a directory of its own, describe pictures and train base models,
as `MEDIARANK_CLUSTER` asks. The client names its files by relative paths, which lead nowhere on the workers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

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
from mediarank.media.shards import Media
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
        variables = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"}
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
