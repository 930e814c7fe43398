"""The top of the page: what is found, what is doubtful, what to label next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mediarank.evaluation.answers import Answer, Doubt, Measure, Open, Quality, answers_section, doubts_of
from mediarank.evaluation.name_details import NameResult, Placed
from mediarank.evaluation.report import Report, render

Read = Callable[[str], Any]
ANSWER = Answer(
    "Which items show it?", "mediarank find NAME", "rankboost", "boosted ranking", "--method rankboost: RankBoost",
    Measure("mAP", 0.6, 0.5, 0.7),
    [Quality("boat", 0.9, 9), Quality("cat", 0.1, 9), Quality("ice cream", 0.5, 9), Quality("rare", 1.0, 1)],
    [Doubt("a.jpg", "boat? place 1", 0.4), Doubt("b.jpg", "not boat?", 0.8)],
    learnable=True,
)  # fmt: skip


def shown(read_page: Read, rest: Open, picture: bytes, answers: dict[str, Answer] | None = None) -> Any:
    section = answers_section({"concepts": ANSWER} if answers is None else answers, rest, lambda _: picture)
    return read_page(render(Report("r", [], [section])))


def test_names_are_grouped_by_how_well_they_are_found(read_page: Read, picture: bytes) -> None:
    page = shown(read_page, Open(new=["Items: 3 new."], labelled={"cat": 4, "ice cream": 9}), picture)
    text = "|".join(page.text)
    assert "found well" in text
    assert text.index("boat") < text.index("ice cream") < text.index("cat|")
    assert {"boosted ranking", "1 have too few test items to say", "Items: 3 new."} <= set(page.text)
    assert "--method rankboost: RankBoost" in page.attributes("abbr", "title")
    assert "#concepts" in page.attributes("a", "href")


def test_the_weakest_names_with_the_fewest_labels_are_labelled_next(read_page: Read, picture: bytes) -> None:
    page = shown(read_page, Open(unlabelled=7, labelled={"cat": 4, "ice cream": 9}), picture)
    commands = [t for t in page.text if t.startswith("bin/mediarank review") and "--errors" not in t]
    assert commands == ["bin/mediarank review cat", "bin/mediarank review rare", 'bin/mediarank review "ice cream"']
    assert "7 items have no label at all" in "".join(page.text)


def test_the_most_doubtful_label_comes_first(read_page: Read, picture: bytes) -> None:
    page = shown(read_page, Open(notes=["2 files are damaged."], skipped={"events": "no clips."}), picture)
    items = [given["data-item"] for _, given in page.tags if "data-item" in given]
    assert items == ["b.jpg", "a.jpg"]
    assert {"2 files are damaged.", "events is skipped: no clips."} <= set(page.text)


def test_without_any_system_the_page_says_what_to_do(read_page: Read, picture: bytes) -> None:
    page = shown(read_page, Open(unlabelled=5), picture, {})
    text = "".join(page.text)
    assert "No system could be measured yet" in text
    assert "5 items have no label" in text


def test_labels_are_doubted_only_for_names_that_are_found() -> None:
    wrong, missed = (
        [Placed("w.jpg", 2, 0.9), Placed("v.jpg", 3, 0.2)],
        [Placed("m.jpg", 90, 0.1), Placed("n.jpg", 9, 0.8)],
    )
    good = NameResult("boat", 10, 100, [1, *range(3, 11), 90], 0.9, wrong, missed)
    poor = NameResult("cat", 10, 100, list(range(60, 70)), 0.1, wrong, missed)
    found = doubts_of([good, poor])
    assert {(d.item, d.why.split("?")[0]) for d in found} == {("w.jpg", "boat"), ("m.jpg", "not boat")}
    assert all("cat" not in d.why for d in found)
