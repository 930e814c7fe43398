"""Labels as files that other programs read: CSV tables, COCO, Label Studio and XMP sidecars.

Everything is written into a separate folder, never into originals and never over a file that exists. Suggested keywords
are written in the form that each format has for guesses, with their probabilities, so that no program takes them for
labels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pandas as pd

from mediarank.collections.label_json import RATING
from mediarank.collections.listing import require_safe
from mediarank.labels import LABEL_TABLES, Labels
from mediarank.media.xmp import Description, Region, write_xmp
from mediarank.types import Manifest

Files = Iterator[tuple[str, bytes]]
Suggested = Mapping[str, Sequence[tuple[str, float | None]]]
"""Item -> suggested keywords with their probabilities, None where they are not known."""


def exported(labels: Labels, manifest: Manifest, form: str, suggestions: pd.DataFrame | None = None) -> Files:
    """(path, content) of each file of an export.

    form : a key of FORMATS
    suggestions : item, keyword, probability
    """
    found: dict[str, list[tuple[str, float | None]]] = {}
    if suggestions is not None:
        for item, word, p in suggestions[["item", "keyword", "probability"]].itertuples(index=False, name=None):
            found.setdefault(item, []).append((word, None if p != p else round(float(p), 4)))
    return FORMATS[form](labels, manifest, found)


def _csv(labels: Labels, manifest: Manifest, suggested: Suggested) -> Files:
    for name, table in labels.tables.items():
        if len(table):
            text = table[list(LABEL_TABLES[name])].to_csv(index=False, lineterminator="\n")
            yield f"{name}.csv", text.encode()
    if suggested:
        rows = [(item, word, p) for item, words in suggested.items() for word, p in words]
        table = pd.DataFrame(rows, columns=["item", "keyword", "probability"])
        yield "suggestions.csv", table.to_csv(index=False, lineterminator="\n").encode()


def _coco(labels: Labels, manifest: Manifest, suggested: Suggested) -> Files:
    """Boxes for regions; an annotation without a box for a keyword that is not the name of a box.

    Suggestions are a second file in the form of COCO's results, whose numbers are those of the first.
    """
    pictures = manifest.usable[manifest.usable["kind"] == "image"]
    number = {item: k for k, item in enumerate(pictures["item_id"], start=1)}
    size = dict(zip(pictures["item_id"], zip(pictures["width"], pictures["height"], strict=True), strict=True))
    names = sorted(
        {*labels["keywords"]["keyword"], *labels["regions"]["name"], *(w for ws in suggested.values() for w, _ in ws)}
    )
    category = {name: k for k, name in enumerate(names, start=1)}
    annotations: list[dict[str, Any]] = []
    boxed = set()
    for item, name, left, top, width, height in labels["regions"].itertuples(index=False, name=None):
        if item in number:
            wide, high = (int(value) for value in size[item])
            box = [round(left * wide, 2), round(top * high, 2), round(width * wide, 2), round(height * high, 2)]
            annotations.append({"image_id": number[item], "category_id": category[name], "bbox": box})
            boxed.add((item, name))
    for item, name in labels["keywords"].itertuples(index=False, name=None):
        if item in number and (item, name) not in boxed:
            annotations.append({"image_id": number[item], "category_id": category[name]})
    yield (
        "coco.json",
        _json(
            {
                "images": [
                    {"id": k, "file_name": i, "width": int(size[i][0]), "height": int(size[i][1])}
                    for i, k in number.items()
                ],
                "categories": [{"id": k, "name": name} for name, k in category.items()],
                "annotations": [{"id": k, **a, "iscrowd": 0} for k, a in enumerate(annotations, start=1)],
            }
        ),
    )

    if suggested:
        results = [
            {"image_id": number[item], "category_id": category[word], "score": p}
            for item, words in suggested.items()
            if item in number
            for word, p in words
        ]
        yield "coco_suggestions.json", _json(results)


def _label_studio(labels: Labels, manifest: Manifest, suggested: Suggested) -> Files:
    """One task per item; suggestions are predictions, which Label Studio shows to be accepted."""
    said = _descriptions(labels)
    key = {"image": "image", "clip": "video", "sound": "audio"}
    tasks = []
    classes = labels.class_of
    for item, kind in zip(manifest.usable["item_id"], manifest.usable["kind"], strict=True):
        found = said.get(item, Description())
        results: list[dict[str, Any]] = []
        if item in classes:
            results.append(_result("class", key[kind], "choices", {"choices": [classes[item]]}))
        if found.keywords:
            results.append(_result("keywords", key[kind], "choices", {"choices": list(found.keywords)}))
        for region in found.regions:
            box = {k: round(100 * v, 4) for k, v in zip(("x", "y", "width", "height"), _box(region), strict=True)}
            value = {**box, "rotation": 0, "rectanglelabels": [region.name]}
            results.append(_result("regions", key[kind], "rectanglelabels", value))
        link = f"/data/local-files/?d={quote(item)}"
        task = {"data": {key[kind]: link}, "annotations": [{"result": results}] if results else []}
        if words := suggested.get(item):
            guess = _result("keywords", key[kind], "choices", {"choices": [word for word, _ in words]})
            chances = {word: p for word, p in words if p is not None}
            score = {"score": round(sum(chances.values()) / len(chances), 4)} if chances else {}
            guess |= {"meta": {"probabilities": chances}} if chances else {}
            task["predictions"] = [{"model_version": "mediarank", **score, "result": [guess]}]
        tasks.append(task)
    yield "label_studio.json", _json(tasks)


def _result(question: str, about: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"from_name": question, "to_name": about, "type": kind, "value": dict(value)}


def _xmp(labels: Labels, manifest: Manifest, suggested: Suggested) -> Files:
    """One sidecar per described item, called `<item>.xmp`, in the folders of the collection."""
    usable = set(manifest.usable["item_id"])
    said = _descriptions(labels)
    for item in sorted({*said, *suggested} & usable):
        require_safe(item)
        yield f"{item}.xmp", write_xmp(said.get(item, Description()), suggested.get(item, ()))


def _descriptions(labels: Labels) -> dict[str, Description]:
    """item -> its keywords, title, rating and regions"""
    keywords = _grouped(labels["keywords"], "keyword")
    titles = dict(zip(labels["titles"]["item"], labels["titles"]["title"], strict=True))
    stars = labels["orderings"][labels["orderings"]["attribute"] == RATING]
    ratings = dict(zip(stars["target"], stars["strength"], strict=True))
    regions: dict[str, list[Region]] = {}
    for item, *region in labels["regions"].itertuples(index=False, name=None):
        regions.setdefault(item, []).append(Region(*region))
    return {
        item: Description(
            tuple(keywords.get(item, ())), titles.get(item, ""), ratings.get(item, 0.0), tuple(regions.get(item, ()))
        )
        for item in sorted({*keywords, *titles, *ratings, *regions})
    }


def _grouped(table: pd.DataFrame, column: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item, value in zip(table["item"], table[column], strict=True):
        found.setdefault(item, []).append(value)
    return found


def _box(region: Region) -> tuple[float, float, float, float]:
    return region.left, region.top, region.width, region.height


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def refuse_place(target: Path, originals: Path) -> str:
    """Why an export may not be written to `target`; empty if it may.

    originals : the collection's folder
    """
    if target.resolve().is_relative_to(originals.resolve()):
        return f"{target} is inside the collection {originals}, which is never written to; name another folder."
    if target.exists() and not target.is_dir():
        return f"{target} is a file; name a folder."
    return ""


FORMATS: Final[Mapping[str, Callable[[Labels, Manifest, Suggested], Files]]] = {
    "csv": _csv,
    "coco": _coco,
    "label-studio": _label_studio,
    "xmp": _xmp,
}
"""Format -> the function that makes its files."""
