"""The summary that the next report is compared with is kept exactly when something new is about to be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from mediarank.ops.runs.dag import Stage
from mediarank.ops.runs.report_baseline import BASELINE, SUMMARY, renew_baseline


def stages(*, manifest: bool, report: bool) -> list[Stage]:
    others = [Stage("wire", (), (), (), False), Stage("report", ("manifest",), (), (), report)]
    return [Stage("manifest", ("wire",), (), (), manifest), *others]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in ((SUMMARY, '{"items": 2}'), (BASELINE, "{}\n")):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_run_that_makes_something_new_keeps_the_last_summary(root: Path) -> None:
    assert renew_baseline(root, stages(manifest=False, report=True))
    assert (root / BASELINE).read_text() == '{"items": 2}'
    assert not renew_baseline(root, stages(manifest=False, report=True)), "the same bytes again"


def test_a_run_without_news_leaves_it_alone(root: Path) -> None:
    for report in (True, False):
        assert not renew_baseline(root, stages(manifest=True, report=report))
    assert (root / BASELINE).read_text() == "{}\n"


def test_the_first_run_has_nothing_to_keep(root: Path) -> None:
    (root / SUMMARY).unlink()
    assert not renew_baseline(root, stages(manifest=False, report=False))
    (root / BASELINE).unlink()
    assert not renew_baseline(root, stages(manifest=False, report=False))
