from __future__ import annotations

from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

import mediarank.cli.events  # noqa: F401 - adds its commands
from mediarank.cli.app import app
from mediarank.learners.fusion.fusion_methods import FUSIONS
from mediarank.types import DataError


def write(path: Path, rows: int, shift: float) -> Path:
    shown = [int(k % 3 == 0) for k in range(rows)]
    scores = [0.2 + 0.01 * k + shift * y for k, y in enumerate(shown)]
    pd.DataFrame(
        {"item": [f"{path.stem}{k}" for k in range(rows)], "relevant": shown, "motion": scores, "sound": 0.5}
    ).to_csv(path, index=False)
    return path


def test_fuse_reads_learns_and_writes(tmp_path: Path) -> None:
    source, target, clips = (
        write(tmp_path / f"{name}.csv", n, shift) for name, n, shift in (("a", 30, 0.5), ("b", 9, 0.3), ("c", 6, 0.3))
    )
    to = tmp_path / "fused.csv"
    result = CliRunner().invoke(app, ["fuse", str(source), str(target), str(clips), "--to", str(to)])
    assert result.exit_code == 0, result.output
    fused = pd.read_csv(to)
    assert set(fused.head(2)["item"]) == {"c0", "c3"}, "the two that show it"
    assert "motion" in result.output
    assert "6 fused scores" in result.output


def test_fuse_takes_out_of_fold_scores(tmp_path: Path) -> None:
    source, target, clips = (write(tmp_path / f"{name}.csv", n, 0.3) for name, n in (("a", 30), ("b", 9), ("c", 6)))
    words = ["fuse", str(source), str(target), str(clips), "--method", "blended_log_odds"]
    result = CliRunner().invoke(app, [*words, "--out-of-fold", str(source), "--to", str(tmp_path / "fused.csv")])
    assert result.exit_code == 0, result.output
    assert isinstance(CliRunner().invoke(app, words).exception, DataError)


def test_fuse_lists_its_methods_without_files() -> None:
    result = CliRunner().invoke(app, ["fuse", "--methods"])
    assert result.exit_code == 0, result.output
    assert all(name in result.output for name in FUSIONS)


def test_fuse_says_what_validation_chose(tmp_path: Path) -> None:
    source, target, clips = (write(tmp_path / f"{name}.csv", n, 0.3) for name, n in (("a", 30), ("b", 12), ("c", 6)))
    words = ["fuse", str(source), str(target), str(clips), "--method", "validated", "--to", str(tmp_path / "f.csv")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert result.output.count("(chosen)") == 1
