"""Paper 002: does recycling training data make better fusions, when, and what is better still?

    python benchmarks/events.py                           # made-up scores and speed, then clips of the demo
    python benchmarks/events.py --clips 0                 # made-up scores and speed only
    python benchmarks/events.py --data FOLDER FOLDER …    # real collections as well

A FOLDER holds clips with events.csv or one folder per class, or features.npz and events.csv. Section 3 of the paper is
repeated on four kinds of made-up scores with a known gap (events_made.py), and on base scores of clips, split anew for
every seed (events_data.py, events_real.py). Bands and p-values are over clips (events_bands.py). --out writes figures
2, 4 and 5. The last line is one JSON object.

What was designed on which data: `kernel_fusion` on splits 0 to 5 of sports and 0 to 2 of fights; `consensus` on made-up
clips 0 to 23 and on training clips of sports and fights. Splits from 100 on, made-up clips from 100 on, made-up events
100 to 104 and the demo's seed 11 were not looked at before; nothing was designed on music and med10.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import events_data
import events_real
import numpy as np
from events_bands import group_weights, mean_precision
from events_made import KINDS, made_events
from events_made_clips import SEEN, made_clips
from events_speed import kernel_speed, protocol_speed

from mediarank.learners.fusion.fusion_methods import FUSIONS
from mediarank.systems.events.config import CONSENSUS, KERNEL_FUSION
from mediarank.systems.events.protocol import ProtocolResult, run_protocol

MADE_SEED, DEMO_SEED = 100, 11
OURS = (CONSENSUS, KERNEL_FUSION)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=300, help="of the demo to generate; 0 for none")
    parser.add_argument("--seed", type=int, default=DEMO_SEED, help="of the demo")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="folders of clips or of features")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--out", type=Path, help="a folder for the figures")
    parser.add_argument("--splits", type=int, default=5, help="of each collection")
    parser.add_argument("--first-seed", type=int, default=100, help="of the splits; 0 to 5 were used for designing")
    parser.add_argument(
        "--repeats", type=int, default=20, help="of the protocol on each split; 5 times for made-up scores"
    )
    parser.add_argument("--made", type=int, default=5, help="made-up events of each kind; 0 for none, and no speed")
    parser.add_argument(
        "--made-clips", type=int, default=0, help="made-up collections of features, for choosing a rule"
    )
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a log shows how far it is
    report: dict[str, Any] = {}
    if options.made:
        report |= made_up(options)
    if options.made_clips:
        report["made_clips"] = rules(options)
    collections = [events_data.demo(options.clips, options.cache, options.seed)] if options.clips else []
    collections += [events_data.opened(path, options.cache) for path in options.data]
    found, tables = {}, {}
    seeds = range(options.first_seed, options.first_seed + options.splits)
    for collection in collections:
        title = collection.title
        found[title] = events_real.measure(collection, seeds, options.cache)
        tables[title] = events_real.table(found[title])
        figures = events_real.protocol(found[title], options.repeats)
        protocol = events_real.protocol_table(title, figures)
        report.setdefault("protocol", {})[title] = protocol
        if options.out:
            events_real.write_figures(options.out / title, found[title], figures, options.repeats)
        report |= {key: protocol[key] for key in ("ap", "f1", "ratios")} if title == "demo" else {}
    if "demo" in tables:
        report["clips"] = events_real.summary({"demo": tables["demo"]}, found)["collections"]["demo"]
    real = {title: entry for title, entry in tables.items() if title != "demo"}
    if real:
        report["real"] = events_real.summary(real, found)
        print_pooled(report["real"])
    print(json.dumps(report))


def made_up(options: argparse.Namespace) -> dict[str, Any]:
    """Speed, and every fusion on both scales, on scores that favour one scale, the other, or neither."""
    repeats = 5 * options.repeats
    report: dict[str, Any] = {**kernel_speed()}
    events = made_events(MADE_SEED, count=options.made)
    report |= protocol_speed(events, repeats, max(1, repeats // 50))
    print(f"intersection kernel {report['hik_ratio']:.0f} times as fast as broadcasting")
    print(
        f"protocol {report['protocol_s']:.1f} s, a loop {report['loop_s']:.0f} s: {report['ratio_vs_loop']:.1f} times"
    )
    made = {}
    for kind in KINDS:
        result = run_protocol(made_events(MADE_SEED, kind, options.made), repeats=repeats)
        print(f"\nmade-up scores, {kind}: mean AP over {options.made} events")
        made[kind] = printed(result)
    return report | {"made": made, "ap": made["gaussian"], "ratios": list(result.ratios)}


def rules(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """What is served, and each method, on made-up collections of every kind: mean AP of test clips."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in SEEN}
    for seed in range(options.first_seed, options.first_seed + options.made_clips):
        kind, clips = made_clips(seed)
        collection = events_data.Collection(f"made_{kind}", f"made {seed}", lambda _, clips=clips: clips)
        measured = events_real.measure(collection, [seed], options.cache)
        weights = group_weights(measured.splits, 0)
        found[kind].append(
            {method: mean_precision(measured.splits, method, weights)[0] for method in measured.splits[0].scores}
        )
    methods = ("served", "highest", *OURS, "log_odds", "out_of_fold", "average_log_odds", "meta_only")
    table = {
        method: {kind: float(np.mean([one[method] for one in of])) for kind, of in found.items() if of}
        for method in methods
    }
    print(
        f"\n{options.made_clips} made-up collections: mean AP\n{'':20}" + "".join(f"{k:>10}" for k in table["served"])
    )
    for method, values in table.items():
        print(f"{method:20}" + "".join(f"{value:10.3f}" for value in values.values()))
    return table


def printed(result: ProtocolResult) -> dict[str, list[float]]:
    means = result.means("ap")
    print(f"{'':24}" + "".join(f"{f'1/{round(1 / r)}':>8}" for r in result.ratios))
    for method in FUSIONS:
        print(f"{method:24}" + "".join(f"{value:8.3f}" for value in means[method]))
    return means


def print_pooled(real: dict[str, Any]) -> None:
    print("\nall real collections: mean AP, and the lead of what is served with its 95 % band over clips")
    print(f"{'served':16} {real['best']:.3f}")
    for rival in (*events_real.RIVALS, *events_real.OTHERS):
        lead = real["leads"][rival]
        text = f"{rival:16} {real[rival]:.3f}  {lead['mean']:+.3f} [{lead['low']:+.3f}, {lead['high']:+.3f}]"
        if rival in real["p_values"]:
            text += f"  p = {real['p_values'][rival]:.4f}; significant from {real['significant_from'][rival]:.3f}"
        print(text)


if __name__ == "__main__":
    main()
