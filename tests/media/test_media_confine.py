"""Decoding processes can use only their own files: tested by what they can still do."""

from __future__ import annotations

import ctypes
import errno
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from making_media import encoded, scene, tone, write_clip, write_sound

from mediarank.media.confine import Confinement, folders_of
from mediarank.media.frames import FramesConfig, make_working_copies
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.limits import Limits
from mediarank.media.probe import probe

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")


def call(*arguments: int | None) -> None:
    """A system call by its number."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def attempt(what: str, inside: Path, outside: Path) -> str:
    """Try to reach out; the name of the error, or nothing."""
    try:
        match what:
            case "read inside":
                (inside / "in/file").read_text()
            case "write inside":
                (inside / "out/new").write_text("x")
                (inside / "out/new").rename(inside / "out/newer")
            case "read outside":
                (outside / "secret").read_text()
            case "list outside":
                list(outside.iterdir())
            case "write outside":
                (outside / "new").write_text("x")
            case "write input":
                (inside / "in/file").write_text("changed")
            case "network":
                socket.create_connection(("127.0.0.1", 9), timeout=1)
            case "datagrams":
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            case "program":
                subprocess.run([sys.executable, "--version"], check=True)
            case "rings":
                call(425, 1, None)
            case "second numbers":
                call(0x40000000 + 41, socket.AF_INET, socket.SOCK_STREAM, 0)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "?")
    return ""


def test_what_is_left_and_what_is_not(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside / "in", inside / "out", outside):
        folder.mkdir(parents=True)
    (inside / "in/file").write_text("input")
    (outside / "secret").write_text("secret")
    monkeypatch.chdir(outside)  # as a project is that runs `python -m mediarank`
    monkeypatch.syspath_prepend(outside)
    allowed, refused = (
        ["read inside", "write inside"],
        [
            "read outside",
            "list outside",
            "write outside",
            "write input",
            "network",
            "datagrams",
            "program",
            "rings",
            "second numbers",
        ],
    )
    work = partial(attempt, inside=inside, outside=outside)
    confinement = Confinement((inside / "in",), (inside / "out",))
    found = guarded_map(work, [*allowed, *refused], "attempts", 60, confinement=confinement)
    in_force = capfd.readouterr().err
    assert "decoding is confined by" in in_force
    if "no Landlock" in in_force or "no seccomp" in in_force:
        pytest.skip(f"this kernel can't: {in_force}")
    assert found[: len(allowed)] == ["", ""]
    assert {what: error for what, error in zip(refused, found[len(allowed) :], strict=True) if error != "EACCES"} == {}
    assert (inside / "in/file").read_text() == "input"
    assert not (outside / "new").exists()


def copies(path: Path, target: Path) -> int:
    limits = Limits()
    made = make_working_copies(path.name, path, probe(path, limits).kind, FramesConfig(max_side=32), limits)
    (target / path.name).write_bytes(b"what may be written to")
    return len(made.frames) + (made.sound is not None)


def test_every_kind_of_medium_decodes_under_confinement(tmp_path: Path) -> None:
    """What decoders load late, such as plugins, must still be found; links lead to files elsewhere."""
    home, elsewhere, target = tmp_path / "home", tmp_path / "elsewhere", tmp_path / "target"
    for folder in (home, elsewhere, target):
        folder.mkdir()
    for name in ("JPEG", "PNG", "TIFF", "WEBP", "GIF", "BMP", "AVIF"):
        (elsewhere / f"a.{name.lower()}").write_bytes(encoded(scene(1, 24, 32), name))
    write_clip(elsewhere / "a.mp4", [scene(k, 48, 64) for k in range(6)], sound=tone(0.3, 48000))
    write_sound(elsewhere / "a.wav", tone(0.2, 22050), 22050)
    paths = []
    for original in sorted(elsewhere.iterdir()):
        (home / original.name).symlink_to(original)
        paths.append(home / original.name)
    confinement = Confinement((home, *folders_of(paths)), (target,))
    found = guarded_map(partial(copies, target=target), paths, "media", 60, confinement=confinement)
    assert {p.name: f.reason for p, f in zip(paths, found, strict=True) if isinstance(f, Failed)} == {}
