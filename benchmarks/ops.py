"""What operating the pipeline costs: the first run, a small change, doing nothing, tracking, rollbacks, kills.

Everything happens in clones of the last commit, in a temporary folder; the workspace is not touched.

    python benchmarks/ops.py                             # all of it: over an hour on two cores
    python benchmarks/ops.py --parts first small noop    # what `make run` takes: first, after a change, for nothing
    python benchmarks/ops.py --parts noop track memory   # some of it
    python benchmarks/ops.py --parts kill --kills 5
    python benchmarks/ops.py --parts rollback --rollback-images 500

Parts: first (`mediarank run` of the demo in a fresh clone, kernels compiled on the way), small (one picture and ten
keywords more in a collection of 160 items), noop (plain `dvc repro` and the flow when nothing has changed), track,
memory (peak of each stage), incremental (one per cent of new items), rollback, kill. Noop, track, memory and
incremental begin with one full run of the demo, which is `dvc repro` unless `first` has made it.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ops_drills import kill_drill, rollback_drill
from ops_project import Project, Watch, no_orphans

from mediarank.media.shards import Media

PARTS = ("first", "small", "noop", "track", "memory", "incremental", "rollback", "kill")
NEEDS_A_RUN = {"noop", "track", "memory", "incremental"}


def full_run(project: Project) -> dict[str, Any]:
    """From nothing to a report by `dvc repro`, watching the memory and time of every stage."""
    began = time.perf_counter()
    run = project.start(sys.executable, "-m", "dvc", "repro")
    watch = Watch(run.pid)
    with no_orphans(run):
        output, _ = run.communicate()
    watch.end()
    if run.returncode:
        raise SystemExit(f"dvc repro failed:\n{output}")
    seconds = time.perf_counter() - began
    peaks = {stage: round(peak) for stage, peak in watch.peak.items()}
    times = {stage: round(spent, 1) for stage, spent in watch.seconds.items()}
    return {"full_s": round(seconds, 1), "resident_mb": peaks, "stage_s": times}


def first(project: Project) -> dict[str, float]:
    """What `make run` does in a fresh clone after the install.

    The seconds of all cores together say what it costs on a machine that has other things to do as well.
    """
    before = cpu_seconds()
    seconds = project.mediarank("wire") + project.mediarank("run")
    return {"first_run_s": round(seconds, 1), "first_run_cpu_s": round(cpu_seconds() - before, 1)}


def cpu_seconds() -> float:
    """Seconds that all cores together have spent for the processes that this one has started and waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def unpack(media: Path, source: Path) -> None:
    """Write the originals in `media` as plain files below `source`."""
    for item, file in Media(media).items():
        (source / item).parent.mkdir(parents=True, exist_ok=True)
        (source / item).write_bytes(file.read_bytes())


def small(folder: Path, rounds: int) -> dict[str, Any]:
    """One picture and ten keywords more in a collection of 160 items: the median of some such changes."""
    project = Project.clone(folder / "project")
    resize(project, 120, 40)
    project.mediarank("wire")
    project.dvc("repro", "collect")
    source = folder / "source"
    unpack(project.root / "data/raw/media", source)
    shutil.copytree(project.root / "data/raw/labels", source / "labels")
    pictures = sorted((source / "images").glob("*_*.jpg"))[5::20][:rounds]
    for path in pictures:
        path.rename(folder / path.name)
    project.forget()
    project.set_params("collection", {"source": "folder", "path": str(source)})
    project.mediarank("wire")
    whole = project.mediarank("run")
    seconds = []
    before = cpu_seconds()
    for number, path in enumerate(pictures):
        (folder / path.name).rename(path)
        with (source / "labels/keywords.csv").open("a") as labels:
            labels.writelines(f"images/{path.name},added {number} {k}\n" for k in range(10))
        seconds.append(project.mediarank("run"))
    items = sum(path.is_file() for path in source.rglob("*") if path.parent.name != "labels")
    return {
        "small_change_s": middle(seconds),
        "small_change_cpu_s": round((cpu_seconds() - before) / len(pictures), 1),
        "small_whole_s": round(whole, 1),
        "small_items": items,
    }


def noop(project: Project, rounds: int) -> dict[str, float]:
    """Plain DVC, and the flow on a running server, when nothing has changed."""
    project.dvc("repro")  # the first one after a run writes down what it has seen
    plain = middle([project.dvc("repro") for _ in range(rounds)])
    environment = project.environment  # one and the same for all, as it says where the server is
    project.call(sys.executable, "-m", "mediarank", "up", env=environment)
    try:
        project.call(sys.executable, "flows/pipeline.py", env=environment)
        flow = middle([project.call(sys.executable, "flows/pipeline.py", env=environment) for _ in range(rounds)])
    finally:
        project.call(sys.executable, "-m", "mediarank", "down", env=environment)
    return {"noop_repro_s": plain, "noop_flow_s": flow, "noop_ratio": round(flow / plain, 2)}


def track(project: Project) -> dict[str, float]:
    """The whole run into MLflow: into no database, into one that is there, and again."""
    shutil.rmtree(project.root / "mlartifacts", ignore_errors=True)
    (project.root / "mlflow.db").unlink(missing_ok=True)
    first = project.mediarank("track")
    project.set_params("report", {"title": "another title", "thumbnail_side": 144, "results": 12})
    project.dvc("repro")
    other = project.mediarank("track")
    again = project.mediarank("track")
    project.git("checkout", "--quiet", "params.yaml")
    project.dvc("repro")
    return {"track_s": round(first, 2), "track_other_s": round(other, 2), "track_again_s": round(again, 2)}


def incremental(project: Project, folder: Path, images: int) -> dict[str, float]:
    """One per cent of new items, in a folder of drawn images and clips: ranking them, and describing them for good.

    Ranking them is what the deployment `ingest` does: with the champion, which is the version without them. All is
    forgotten first, so that they are new indeed; kernels stay compiled, so that the whole is not counted too long.
    """
    project.forget()
    resize(project, images, None)
    project.dvc("repro", "collect")
    source = folder / "source"
    unpack(project.root / "data/raw/media", source)
    shutil.copytree(project.root / "data/raw/labels", source / "labels")
    items = sorted(path for path in source.rglob("*") if path.is_file() and path.parent != source / "labels")
    held_back = items[50::100]
    for path in held_back:
        path.rename(folder / path.name)
    project.forget()
    project.set_params("collection", {"source": "folder", "path": str(source)})
    whole = project.dvc("repro")
    project.commit("without the new items")
    project.mediarank("promote")
    for path in held_back:
        (folder / path.name).rename(path)
    frames = project.dvc("repro", "frames")
    ranked = frames + project.mediarank("ingest")
    described = frames + project.dvc("repro", "check_features")
    return {
        "incremental_fraction": round(ranked / whole, 3),
        "incremental_features_fraction": round(described / whole, 3),
        "incremental_s": round(ranked, 1),
        "incremental_whole_s": round(whole, 1),
        "incremental_items": len(items),
        "incremental_new": len(held_back),
    }


def middle(seconds: list[float]) -> float:
    return round(sorted(seconds)[len(seconds) // 2], 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--images", type=int, help="of the demo; by default what params.yaml says")
    parser.add_argument("--clips", type=int)
    parser.add_argument("--rounds", type=int, default=3, help="of what is timed several times; the median counts")
    parser.add_argument("--incremental-images", type=int, default=5000, help="and the demo's clips")
    parser.add_argument("--rollback-images", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--kill-stages", nargs="+", default=(), help="only these of dvc.yaml; by default all")
    parser.add_argument("--seed", type=int, default=7, help="of the moments of the kills")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that what it started is ended
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="ops-benchmark-") as name:
        folder = Path(name)
        if (NEEDS_A_RUN | {"first"}) & set(arguments.parts):
            project = Project.clone(folder / "demo")
            resize(project, arguments.images, arguments.clips)
            if "first" in arguments.parts:
                found |= show("first", first(project))
            if "first" not in arguments.parts or "memory" in arguments.parts:
                project.forget()
                full = full_run(project)
                print(f"a full run of the demo: {full['full_s']} s, {project.stages} stages", flush=True)
                found |= full
            project.commit("a run")
            parts = {
                "noop": lambda: noop(project, arguments.rounds),
                "track": lambda: track(project),
                "incremental": lambda: incremental(project, folder / "incremental", arguments.incremental_images),
            }
            for part, work in parts.items():
                if part in arguments.parts:
                    found |= show(part, work())
        if "small" in arguments.parts:
            found |= show("small", small(folder / "small", arguments.rounds))
        if "rollback" in arguments.parts:
            found |= show("rollback", rollback_drill(folder / "rollback", arguments.rollback_images))
        if "kill" in arguments.parts:
            found |= show("kill", kill_drill(folder / "kill", arguments.kills, arguments.seed, arguments.kill_stages))
    for stage, peak in found.get("resident_mb", {}).items():
        print(f"  {stage:<30} {peak:>6} MB {found['stage_s'][stage]:>6} s")
    print(json.dumps(found))


def resize(project: Project, images: int | None, clips: int | None) -> None:
    if images is None and clips is None:
        return
    demo = {"images": images or 640, "clips": clips if clips is not None else 200, "seed": 7}
    project.set_params("collection", {"source": "demo", "path": "src/mediarank/collections/demo", "demo": demo})


def show(part: str, figures: dict[str, Any]) -> dict[str, Any]:
    print(f"{part}: " + ", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
    return figures


if __name__ == "__main__":
    main()
