"""Damage in DVC's cache is found by reading, and repaired from the remote or by running again."""

from __future__ import annotations

from pathlib import Path

from versioned_project import SECOND, damage, dvc, media

from mediarank.ops.versions.verify import ASIDE, Verified, verify

DAMAGED = "data/raw/media/images/tower.jpg"


def test_whole_data_is_left_alone(versioned: Path) -> None:
    assert verify(versioned) == Verified(11, (), ())
    assert verify(versioned).summary() == "11 files are what dvc.lock says."


def test_damage_is_fetched_again(versioned: Path) -> None:
    damage(versioned, "picture of tower")
    found = verify(versioned)
    assert found == Verified(11, (DAMAGED,), ())
    assert "1 of them had to be fetched again" in found.summary()
    assert media(versioned) == SECOND
    assert (versioned / ASIDE / DAMAGED).read_text() == "PICTURE OF TOWER", "nothing is lost"
    assert verify(versioned) == Verified(11, (), ())


def test_without_a_remote_it_is_left_to_dvc_repro(versioned: Path) -> None:
    damage(versioned, "picture of tower")
    (versioned.parent / "remote").rename(versioned.parent / "unplugged")
    found = verify(versioned)
    assert found.gone == (DAMAGED,)
    assert "dvc repro makes them again" in found.summary()
    assert not (versioned / DAMAGED).exists(), "DVC would take the damaged file for a whole one"
    dvc(versioned, "repro")
    assert media(versioned) == SECOND
    assert verify(versioned) == Verified(11, (), ())


def test_an_edited_file_is_set_aside(versioned: Path) -> None:
    path = versioned / DAMAGED
    path.unlink()
    path.write_text("my own tower")
    assert verify(versioned).healed == (DAMAGED,)
    assert media(versioned) == SECOND
    assert (versioned / ASIDE / DAMAGED).read_text() == "my own tower"


def test_a_clone_is_filled_from_the_remote(clone: Path) -> None:
    assert len(verify(clone).healed) == 11
    assert media(clone) == SECOND
