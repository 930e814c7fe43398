"""What a reader asks first: what can be found and how well, what is doubtful, what to label next, what is new.

Each system gives an `Answer` (`answer` in its `report.py`); `answers_section` puts them at the top of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

import pandas as pd

from mediarank.evaluation.blocks import Block, Cell, Column, Gallery, Row, Table, Text, Tile
from mediarank.evaluation.folded import Points
from mediarank.evaluation.name_details import PARTLY, NameResult, level
from mediarank.evaluation.report import Section

LISTED: Final = 8
DOUBTS: Final = 12
TO_LABEL: Final = 8
LEVELS: Final = ("well", "partly", "poorly")
Thumbnail = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Doubt:
    """A label that may be wrong: the item, what speaks against it, and how much (higher first)."""

    item: str
    why: str
    weight: float


@dataclass(frozen=True)
class Quality:
    """How well a name is found: a share from 0 to 1, and the number of test items behind it."""

    name: str
    share: float
    shown: int

    @property
    def level(self) -> str:
        return level(self.share, self.shown)[0]


@dataclass(frozen=True)
class Measure:
    """The main measure of the method that answers: its title, mean and interval."""

    title: str
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, summary: pd.DataFrame, method: str, metric: str, title: str) -> Measure:
        row = summary[(summary["method"] == method) & (summary["metric"] == metric)].iloc[0]
        return cls(title, float(row["mean"]), float(row["low"]), float(row["high"]))


@dataclass(frozen=True)
class Answer:
    """What a system can do with this collection.

    task : in a user's words; command : how to ask
    served : the method that answers, as a command names it; method, hint : in words, and in the paper's
    learnable : whether more labels of a name are worth asking for, with `mediarank review NAME`
    """

    task: str
    command: str
    served: str
    method: str
    hint: str
    measure: Measure
    names: Sequence[Quality]
    doubts: Sequence[Doubt] = ()
    learnable: bool = False


@dataclass(frozen=True)
class Open:
    """What the page says of things that no system answers.

    skipped : system -> why
    notes : sentences about the quarantine and the checks
    new : sentences about what changed since the last version
    unlabelled : usable items without any label
    labelled : name -> items that are labelled with it
    """

    skipped: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    new: Sequence[str] = ()
    unlabelled: int = 0
    labelled: Mapping[str, int] = field(default_factory=dict)


def doubts_of(results: Sequence[NameResult]) -> list[Doubt]:
    """Items that rank high without the label, or low with it, for names that are found well enough to say so."""
    doubts = []
    for r in results:
        if level(r.share, r.shown)[0] not in ("well", "partly"):
            continue
        for one in r.wrong:
            if one.place <= r.shown and not one.probability < 0.5:
                chance = 1 - one.place / r.candidates if one.probability != one.probability else one.probability
                why = f"{r.name}? place {one.place} of {r.candidates}, not labelled"
                doubts.append(Doubt(one.item, why, chance * r.share**2))
        for one in r.missed:
            if one.place > r.candidates / 2:
                why = f"not {r.name}? labelled, place {one.place} of {r.candidates}"
                doubts.append(Doubt(one.item, why, one.place / r.candidates * r.share**2))
    return doubts


def answers_section(answers: Mapping[str, Answer], rest: Open, thumbnail: Thumbnail) -> Section:
    """The first section of the page."""
    blocks: list[Block] = []
    if answers:
        blocks.append(_found(answers))
    else:
        nothing = "No system could be measured yet. Pictures can be looked through and searched by example; label some."
        blocks.append(Text([nothing], "What can be found, and how well"))
    doubtful = sorted((d for a in answers.values() for d in a.doubts), key=lambda d: (-d.weight, d.item, d.why))
    notes = [*rest.notes, *(f"{system} is skipped: {why}" for system, why in rest.skipped.items())]
    blocks.append(Points("What is new", rest.new, half=True))
    blocks.append(Points("What is doubtful", notes or ["All files could be used, and all checks passed."], half=True))
    if doubtful:
        tiles = [
            Tile(thumbnail(d.item), f"{PurePosixPath(d.item).name}: {d.why}", title=d.item, item=d.item)
            for d in doubtful[:DOUBTS]
        ]
        note = (
            "Test items whose rank contradicts their label. `bin/mediarank review --errors` looks at all items, "
            "`bin/mediarank label` corrects one."
        )
        row = Row(f"{min(len(doubtful), DOUBTS)} of {len(doubtful)}", tiles, "most doubtful first")
        blocks.append(Gallery("Labels that may be wrong", [row], note, captions=True))
    blocks.append(_to_label(answers, rest))
    return Section("In short", blocks, "What can be found, what is doubtful, and what to do next?")


def _found(answers: Mapping[str, Answer]) -> Table:
    columns = [
        Column("question"),
        *(Column(f"found {word}") for word in LEVELS),
        Column("measure", numeric=True, hint="of the method that answers, on test items, with a confidence interval"),
        Column("answered by"),
    ]
    rows: list[list[Cell | str]] = []
    for system, answer in answers.items():
        by_level = {word: [q.name for q in answer.names if q.level == word] for word in LEVELS}
        few = sum(q.level not in LEVELS for q in answer.names)
        m = answer.measure
        rows.append(
            [
                Cell(answer.task, f"`{answer.command}`", link=system),
                *(
                    Cell(_listed(by_level[word]), tone=tone)
                    for word, tone in zip(LEVELS, ("good", "", "bad"), strict=True)
                ),
                Cell(f"{m.mean:.3f}", f"{m.title}, {m.low:.3f}–{m.high:.3f}"),
                Cell(answer.method, f"{few} have too few test items to say" if few else "", hint=answer.hint),
            ]
        )
    note = (
        "Measured on items that nothing was fitted to. Well: 70 % or more of the first results are right (of as many "
        "as could be); partly: 40 %."
    )
    return Table("What can be found, and how well", columns, rows, note)


def _to_label(answers: Mapping[str, Answer], rest: Open) -> Block:
    heading = "What to label next"
    weak = [
        (quality, rest.labelled.get(quality.name, 0))
        for answer in answers.values()
        if answer.learnable
        for quality in answer.names
        if quality.level != "well"
    ]
    weak.sort(key=lambda one: (one[0].share >= PARTLY, one[1], one[0].name))
    if not weak:
        sentence = "Every name that can be learned is found well."
        if rest.unlabelled:
            sentence = f"{rest.unlabelled:,} items have no label. `bin/mediarank review` picks those that say most."
        return Text([sentence], heading)
    columns = [Column("name"), Column("found"), Column("labelled items", numeric=True), Column("command")]
    rows: list[list[Cell | str]] = [
        [
            quality.name,
            Cell(quality.level, tone=level(quality.share, quality.shown)[1]),
            f"{count:,}",
            Cell(f"bin/mediarank review {_quoted(quality.name)}", code=True),
        ]
        for quality, count in weak[:TO_LABEL]
    ]
    note = "Names that are found worst and have the fewest labels gain most. The command lists the items to look at."
    if rest.unlabelled:
        note += f" {rest.unlabelled:,} items have no label at all."
    return Table(heading, columns, rows, note)


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "–"
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _quoted(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'
