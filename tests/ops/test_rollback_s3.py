"""The same versions in an S3 bucket: a real server that speaks S3, on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from versioned_project import FIRST, SECOND, dvc, git, media

from mediarank.ops.versions.rollback import rollback
from mediarank.types import DataError

BUCKET = "mediarank-versions"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server with an empty bucket."""
    import boto3

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    address = "http://{}:{}".format(*started.get_host_and_port())
    boto3.client("s3", endpoint_url=address).create_bucket(Bucket=BUCKET)
    yield address
    started.stop()


def use_bucket(project: Path, server: str) -> None:
    dvc(project, "remote", "add", "--quiet", "--local", "--default", "cloud", f"s3://{BUCKET}/data")
    dvc(project, "remote", "modify", "--quiet", "--local", "cloud", "endpointurl", server)


def test_a_clean_clone_goes_back_and_forth_from_the_bucket(versioned: Path, server: str) -> None:
    use_bucket(versioned, server)
    dvc(versioned, "push", "--quiet", "--all-tags")
    clone = versioned.parent / "clone"
    git(versioned.parent, "clone", "--quiet", str(versioned), str(clone))
    use_bucket(clone, server)
    assert rollback(clone, "v1").files == 11
    assert media(clone) == FIRST
    rollback(clone, "v2")
    assert media(clone) == SECOND


def test_a_bucket_that_can_not_be_reached_is_reported_before_anything_is_touched(
    clone: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_bucket(clone, server)
    dvc(clone, "remote", "modify", "--quiet", "--local", "cloud", "url", "s3://no-such-bucket/data")
    with pytest.raises(DataError, match=r"neither in DVC's cache nor in the remote|can't be asked"):
        rollback(clone, "v1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    dvc(clone, "remote", "modify", "--quiet", "--local", "cloud", "endpointurl", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"can't be asked: .*\n.*check the remote's address"):
        rollback(clone, "v1")
    assert git(clone, "status", "--porcelain") == ""
