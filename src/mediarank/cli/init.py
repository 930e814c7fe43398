"""Look at a folder and make it the project's collection."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank import store
from mediarank.cli.app import BASELINE, DATA, app
from mediarank.types import ConfigError

if TYPE_CHECKING:
    from mediarank.asking.run_cost import EarlierRun


@app.command()
def init(
    folder: Annotated[
        str | None,
        typer.Argument(help="a folder of pictures, clips or sounds; without it, the one in params.yaml is checked"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="change params.yaml without asking")] = False,
) -> None:
    """Look at a folder; print its contents, what can be learned and the cost; then set it in params.yaml."""
    from mediarank import config
    from mediarank.asking import first_look, run_cost

    params = config.load()
    if folder is None:
        if params.collection.source != "demo":
            first_look.folder_of(_as_written(params.collection.path), Path.cwd())
        print(f"collection.path is {params.collection.path}, read as {params.collection.source}.")
        return
    place = first_look.folder_of(folder, Path.cwd())
    limits, frames = params.manifest.limits, params.frames
    picture = first_look.example_picture(place, frames, limits)
    costs = run_cost.measure(list(params.features.values()), picture) if picture is not None else run_cost.Costs()
    bits = params.splits.near_duplicate_bits
    found = first_look.look(place, limits, frames, costs, params.check_manifest.min_items, bits, _earlier_run())
    print("\n".join(found.lines))
    if found.problems:
        raise ConfigError("Fix what DVC will stop at, then run `mediarank init` again. params.yaml is unchanged.")
    text = config.PARAMS.read_text()
    changed = with_collection(text, found.source, place.as_posix())
    if changed == text:
        print("params.yaml names this folder already. Next: make run")
    elif yes or typer.confirm(f"Set collection.path: {place} and collection.source: {found.source} in params.yaml?"):
        store.write_text(config.PARAMS, changed)
        config.load().collection  # noqa: B018 - refuses what can't be read back
        print("params.yaml is changed. Next: make run")
        if (BASELINE / "report.json").exists():
            store.write_text(BASELINE / "report.json", "{}\n")  # of another collection
        if any(path.read_text().strip() not in ("", "{}") for path in sorted(BASELINE.glob("check_*.json"))):
            print("baseline/ is of another collection; put {} into its files, or the check will report what is gone.")
    else:
        print("params.yaml is unchanged.")


def with_collection(text: str, source: str, path: str) -> str:
    """The text of params.yaml with another collection; comments stay, rules for the old classes are removed."""
    match = re.search(r"^collection:.*\n((?:[ \t]+.*\n|[ \t]*\n|#.*\n)*)", text, re.MULTILINE)
    if match is None:
        raise ConfigError("params.yaml has no section `collection:`. Add it, with the lines `source:` and `path:`.")
    section = match[1]
    for key, value in (("source", source), ("path", _quoted(path))):
        section, count = re.subn(
            rf"^([ \t]+{key}:[ \t]*)(\"[^\"]*\"|'[^']*'|[^#\n]*?)([ \t]*(?:#.*)?)$",
            lambda m, value=value: f"{m[1].rstrip()} {value}{m[3]}",
            section,
            count=1,
            flags=re.MULTILINE,
        )
        if not count:
            section = f"  {key}: {value}\n{section}"
    return text[: match.start(1)] + section + text[match.end(1) :]


def _earlier_run() -> EarlierRun:
    """The times of this project's last run, or else the demo's."""
    from mediarank.asking.run_cost import OF_THE_DEMO, EarlierRun
    from mediarank.ops.runs.run_times import FILE, read_times
    from mediarank.ops.services.environment import STATE

    times, manifest = read_times(Path(STATE) / FILE), DATA / "manifest/manifest.parquet"
    if not manifest.exists() or not any(stage.startswith("systems-") for stage in times):
        return OF_THE_DEMO
    return EarlierRun(times, len(store.read_manifest(manifest).usable), "this project's last run's")


def _quoted(path: str) -> str:
    """A path as YAML writes it; quoted where a plain one could be taken for something else."""
    if re.fullmatch(r"[\w/.\- ]+", path) and path == path.strip():
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _as_written(path: str) -> str:
    if path.startswith("~"):
        raise ConfigError(
            f"collection.path in params.yaml is {path!r}, but DVC does not expand ~. Write {Path(path).expanduser()}."
        )
    return path
