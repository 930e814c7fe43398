"""Fan-out gives what a loop gives, on any number of processes."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from threadpoolctl import threadpool_info

from mediarank import cluster as dask
from mediarank import fanout
from mediarank.fanout import fan_out, fan_out_iter, jobs, share_out
from mediarank.types import ConfigError, DataError


def square(number: int) -> int:
    if number < 0:
        raise DataError(f"{number} is negative")
    return number * number


@pytest.mark.parametrize("processes", ["1", "2"])
def test_outcomes_come_in_order(monkeypatch: pytest.MonkeyPatch, processes: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", processes)
    monkeypatch.setattr(fanout, "START_UP", 0.0)
    numbers = list(range(500))
    assert fan_out(square, numbers, "squares") == [n * n for n in numbers]
    assert fan_out(square, [], "nothing") == []


def whose(number: int) -> int:
    return os.getpid()


def test_workers_start_only_where_that_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "2")
    assert set(fan_out(whose, range(300), "short work")) == {os.getpid()}
    monkeypatch.setattr(fanout, "START_UP", 0.0)
    assert len(set(fan_out(whose, range(300), "long work"))) > 1


def test_progress_goes_to_the_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    assert next(fan_out_iter(square, [3], "squares")) == 9
    fan_out(square, range(7), "squares")
    assert "squares: 7 of 7" in capsys.readouterr().err


@pytest.mark.parametrize("processes", ["1", "2"])
def test_an_error_reaches_the_caller(monkeypatch: pytest.MonkeyPatch, processes: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", processes)
    monkeypatch.setattr(fanout, "START_UP", 0.0)
    with pytest.raises(DataError, match="-3 is negative"):
        fan_out(square, [*range(200), -3], "squares")


def shared(numbers: list[int], place: int) -> tuple[int, int]:
    """Earlier places take longer; with the thread."""
    time.sleep(0.001 * (len(numbers) - place))
    return square(numbers[place]), threading.get_ident()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_is_shared_comes_in_order_on_so_many_threads(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", threads)
    numbers = [5, 3, 4, 1, 2, 9]
    found = share_out(partial(shared, numbers), range(6))
    assert [value for value, _ in found] == [25, 9, 16, 1, 4, 81]
    assert len({thread for _, thread in found}) == int(threads)
    alone = share_out(partial(shared, numbers), range(6), threads=1)
    assert {thread for _, thread in alone} == {threading.get_ident()}
    assert share_out(partial(shared, numbers), []) == []


def blas_threads(_: int) -> set[int]:
    """Of numpy's and scipy's BLAS; faiss brings one on OpenMP, whose number belongs to the thread that asks."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas" and pool["threading_layer"] == "pthreads"]
    return {pool["num_threads"] for pool in pools}


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_is_shared_has_one_thread_of_blas(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", threads)
    before = blas_threads(0)
    assert share_out(blas_threads, range(3)) == [{1}] * 3
    assert blas_threads(0) == before


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_error_in_what_is_shared_is_raised(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", threads)
    with pytest.raises(DataError, match="-3 is negative"):
        share_out(partial(shared, [1, -3, 2]), range(3))


def test_what_is_shared_goes_to_the_cluster_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function, with what it holds, once; every item on its own."""
    sent = []

    def on_cluster(address: str, run: Any, function: Any, chunks: Any, carry: Any) -> Iterator[list[Any]]:
        sent.append((address, function, chunks))
        return (run(function, [carry(item) for item in chunk]) for chunk in chunks)

    monkeypatch.setattr(dask, "on_cluster", on_cluster)
    monkeypatch.setenv("MEDIARANK_CLUSTER", "tcp://there:1")
    function = partial(shared, [1, 2, 3])
    assert [value for value, _ in share_out(function, range(3), threads=1)] == [1, 4, 9]
    assert sent == [("tcp://there:1", function, [[0], [1], [2]])]
    assert share_out(function, []) == []
    assert len(sent) == 1, "nothing is not sent"


@pytest.mark.parametrize("text", ["0", "-1", "two"])
def test_jobs_must_be_a_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", text)
    with pytest.raises(ConfigError, match="MEDIARANK_JOBS"):
        jobs()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://here"])
def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("MEDIARANK_CLUSTER", address)
    monkeypatch.setattr(dask, "PATIENCE", 0.5)
    with pytest.raises(ConfigError, match=f"MEDIARANK_CLUSTER names '{address}'.* no Dask scheduler answers"):
        fan_out(square, list(range(5)), "squares")


def test_one_item_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    assert fan_out(square, [3], "squares") == [9]
    assert capsys.readouterr().err == ""


def certificates(folder: Path) -> dict[str, str]:
    """A key, and a certificate that is its own authority, as the variables name them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cluster")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir()
    (folder / "cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    cert = str(folder / "cert.pem")
    return dict(zip(dask.TLS.values(), (cert, cert, str(folder / "key.pem")), strict=True))


@pytest.fixture
def _dask_logs() -> Iterator[None]:
    """A scheduler and a worker in this process leave handlers behind."""
    loggers = [logging.getLogger(f"distributed.{name}") for name in ("worker", "scheduler")]
    before = [list(logger.handlers) for logger in loggers]
    yield
    for logger, handlers in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers


@pytest.mark.slow
@pytest.mark.usefixtures("_dask_logs")
def test_a_cluster_over_tls_takes_those_with_a_certificate_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster
    from distributed.security import Security

    own, other = certificates(tmp_path / "own"), certificates(tmp_path / "other")
    files = {name: own[variable] for name, variable in dask.TLS.items()}
    kinds = [f"tls_{kind}_{part}" for kind in ("scheduler", "worker") for part in ("cert", "key")]
    security = Security(
        require_encryption=True, **files, **{kind: files[f"tls_client_{kind.rsplit('_', 1)[1]}"] for kind in kinds}
    )
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, security=security, dashboard_address=None, protocol="tls://"
    ) as cluster:
        assert cluster.scheduler_address.startswith("tls://")
        monkeypatch.setenv("MEDIARANK_CLUSTER", cluster.scheduler_address)
        monkeypatch.setattr(dask, "PATIENCE", 200.0)
        for variable, file in own.items():
            monkeypatch.setenv(variable, file)
        assert fan_out(square, range(20), "squares") == [n * n for n in range(20)]
        monkeypatch.setattr(dask, "PATIENCE", 5.0)
        for variable, file in other.items():
            monkeypatch.setenv(variable, file)
        with pytest.raises(ConfigError, match="no Dask scheduler answers"):
            fan_out(square, range(20), "squares")
        monkeypatch.setenv("MEDIARANK_CLUSTER", cluster.scheduler_address.replace("tls://", "tcp://"))
        with pytest.raises(ConfigError, match="no Dask scheduler answers"):
            fan_out(square, range(20), "squares")


def test_tls_without_certificates_says_which_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_CLUSTER", "tls://127.0.0.1:1")
    for variable in dask.TLS.values():
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigError, match="MEDIARANK_CLUSTER_CA, MEDIARANK_CLUSTER_CERT, MEDIARANK_CLUSTER_KEY"):
        fan_out(square, range(3), "squares")
