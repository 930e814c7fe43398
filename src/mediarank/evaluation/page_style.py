"""The look of the report: one style sheet, in light and dark, without fonts or pictures from elsewhere.

Colours are variables named by their use; figures refer to the same names (see `figures.THEME`).
"""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --paper: #f6f5f2; --card: #fffefc; --ink: #1f2530; --soft: #434b59; --faint: #687182; --grid: #e2e4e9;
  --line: #e6e4de; --accent: #2563c9; --accent-wash: #eaf0fb; --good: #12805c; --good-wash: #e4f4ed;
  --bad: #c0392f; --bad-wash: #fbe9e7; --shadow: 0 1px 2px rgb(31 37 48 / .05), 0 6px 20px rgb(31 37 48 / .05);
  --series-0: #2563c9; --series-1: #d4591c; --series-2: #12866a; --series-3: #a8328a;
  --series-4: #a87d0a; --series-5: #5b6878; --series-6: #0f8aa3; --series-7: #7748c4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #11141a; --card: #191d25; --ink: #e8eaef; --soft: #c0c6d1; --faint: #98a1b1; --grid: #2c323d;
    --line: #2a303b; --accent: #7fb0ff; --accent-wash: #1d2a41; --good: #56cfa1; --good-wash: #16322a;
    --bad: #ff8f85; --bad-wash: #3b2122; --shadow: none;
    --series-0: #7fb0ff; --series-1: #ff9b62; --series-2: #4fd0a6; --series-3: #ee8fd3;
    --series-4: #e3be4a; --series-5: #a9b4c3; --series-6: #5cd0e4; --series-7: #b999ff;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--card); color: var(--accent); z-index: 9; }
.page { max-width: 1180px; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem) 4rem; }
header.top { padding: clamp(2.2rem, 6vw, 4.2rem) 0 0; }
h1, h2, h3 { line-height: 1.2; letter-spacing: -.015em; text-wrap: balance; margin: 0; overflow-wrap: anywhere; }
h1 { font-size: clamp(2rem, 5vw, 3.1rem); font-weight: 740; letter-spacing: -.03em; }
h2 { font-size: clamp(1.5rem, 3vw, 2rem); font-weight: 700; }
h3 { font-size: 1.12rem; font-weight: 650; }
.lead { font-size: 1.14rem; color: var(--soft); max-width: 46rem; margin: .8rem 0 0; }
nav.contents {
  position: sticky; top: 0; z-index: 5; margin: 1.8rem calc(-1 * clamp(1rem, 4vw, 2.5rem)) 0;
  padding: 0 clamp(1rem, 4vw, 2.5rem); border-bottom: 1px solid var(--line);
  background: color-mix(in srgb, var(--paper) 90%, transparent); backdrop-filter: blur(10px);
}
nav.contents ul { display: flex; gap: .2rem; margin: 0; padding: .5rem 0; list-style: none; overflow-x: auto; }
nav.contents a {
  display: block; padding: .3rem .75rem; border-radius: 99px; color: var(--soft); text-decoration: none;
  font-size: .93rem; white-space: nowrap;
}
nav.contents a:hover, nav.contents a:focus-visible { background: var(--accent-wash); color: var(--accent); }
section { padding-top: 3.4rem; scroll-margin-top: 1rem; }
.question {
  margin: .55rem 0 0; max-width: 48rem; color: var(--soft); font-size: 1.2rem; line-height: 1.45;
  font-family: ui-serif, Charter, "Iowan Old Style", "Palatino Linotype", Georgia, serif; font-style: italic;
}
.facts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9.2rem, 1fr)); gap: .8rem; margin: 1.6rem 0 0;
}
.fact {
  background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: .95rem 1.1rem 1rem;
  box-shadow: var(--shadow); display: flex; flex-direction: column; max-width: 24rem;
}
.eyebrow { margin: 0 0 .6rem; color: var(--accent); font-weight: 650; font-size: .9rem; letter-spacing: .02em; }
.fact dt { font-size: .82rem; color: var(--faint); order: 1; }
.fact dd { margin: 0; }
.fact .value {
  font-size: 1.75rem; font-weight: 700; letter-spacing: -.02em; line-height: 1.25; overflow-wrap: anywhere;
}
.fact .note { font-size: .82rem; color: var(--soft); order: 2; margin-top: .15rem; }
.fact.good .value { color: var(--good); } .fact.bad .value { color: var(--bad); }
.blocks { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1.3rem; margin-top: 1.6rem; }
.blocks > * { grid-column: 1 / -1; min-width: 0; margin: 0; }
.blocks > .half { grid-column: auto; }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 16px; box-shadow: var(--shadow);
  padding: 1.25rem clamp(1rem, 2.2vw, 1.5rem);
}
.prose { max-width: 46rem; color: var(--soft); }
.prose p { margin: .7rem 0 0; }
.prose p:first-child { margin-top: 0; }
.prose h3 { color: var(--ink); margin-bottom: .4rem; }
.aside { font-size: .9rem; color: var(--faint); margin: .35rem 0 0; max-width: 52rem; }
.scroll { overflow-x: auto; margin: .9rem -.4rem 0; padding: 0 .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
th, td { padding: .55rem .8rem; text-align: left; vertical-align: baseline; }
th:first-child, td:first-child { padding-left: 0; } th:last-child, td:last-child { padding-right: 0; }
thead th {
  color: var(--faint); font-size: .82rem; font-weight: 600; border-bottom: 1px solid var(--line); white-space:
  nowrap;
}
tbody th { font-weight: 500; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
td.wrap { overflow-wrap: break-word; min-width: 6.5rem; }
th.wrap { overflow-wrap: anywhere; min-width: 9rem; }
abbr[title] { text-decoration: underline dotted var(--faint); text-underline-offset: .25em; cursor: help; }
td strong { font-weight: 750; }
.good-text { color: var(--good); } .bad-text { color: var(--bad); }
.small { display: block; font-size: .78rem; color: var(--faint); font-weight: 400; }
.swatch { display: inline-block; width: .72em; height: .72em; border-radius: 3px; margin-right: .6em; }
.whisker { position: relative; display: block; height: 9px; min-width: 8rem; margin-top: .35rem; }
.whisker::before {
  content: ""; position: absolute; inset: 4px 0 auto; height: 1px; background: var(--grid);
}
.whisker i { position: absolute; top: 0; height: 9px; border-radius: 2px; opacity: .35; }
.whisker b { position: absolute; top: 0; width: 2px; height: 9px; margin-left: -1px; }
details > summary { cursor: pointer; font-weight: 650; font-size: 1.12rem; }
details > summary::marker { color: var(--faint); }
figure { margin: 0; }
.figure svg { display: block; width: 100%; height: auto; margin-top: .7rem; stroke-linejoin: round; }
.figure svg text { font-family: inherit !important; }
.figure.half { display: flex; flex-direction: column; }
.figure.half svg { margin-top: auto; margin-bottom: auto; padding-top: .7rem; }
.rows { margin: .4rem 0 0; padding: 0; list-style: none; }
.row { display: grid; grid-template-columns: 10.5rem minmax(0, 1fr); gap: .9rem 1.4rem; padding: 1.1rem 0 .3rem; }
.row + .row { border-top: 1px solid var(--line); margin-top: .8rem; }
.row.plain { grid-template-columns: minmax(0, 1fr); }
.row-head { grid-column: 1 / -1; display: flex; flex-wrap: wrap; align-items: baseline; gap: .1rem .7rem; }
.row-head .title { font-weight: 650; }
.row-head .note { color: var(--faint); font-size: .88rem; overflow-wrap: anywhere; }
.tiles {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(7.4rem, 1fr)); gap: .65rem; margin: 0; padding: 0;
  list-style: none; align-content: start;
}
.tile { min-width: 0; position: relative; font-size: .76rem; line-height: 1.3; color: var(--faint); }
.tile .picture {
  position: relative; border-radius: 9px; overflow: hidden; aspect-ratio: 4 / 3; background: var(--grid); border:
  3px solid transparent;
}
.tile img { display: block; width: 100%; height: 100%; object-fit: cover; border-radius: 5px; }
.tile.good .picture { border-color: var(--good); }
.tile.bad .picture { border-color: var(--bad); border-style: dashed; }
.tile.lead-tile .picture { border-color: var(--accent); }
.tile .mark, .tile .rank {
  position: absolute; display: grid; place-items: center; height: 1.35rem; min-width: 1.35rem; font-weight: 700;
  font-size: .72rem; line-height: 1;
}
.tile .rank {
  left: 0; bottom: 0; padding: 0 .35rem; background: rgb(17 20 26 / .72); color: #fff; border-top-right-radius: 8px;
}
.tile .mark { right: 0; top: 0; border-bottom-left-radius: 8px; color: var(--card); }
.tile.good .mark { background: var(--good); } .tile.bad .mark { background: var(--bad); }
.tile .missing { display: grid; place-items: center; height: 100%; font-size: 1.3rem; color: var(--faint); }
.tile .caption { display: block; margin-top: .25rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chips { display: flex; flex-wrap: wrap; gap: .25rem; margin: .35rem 0 0; padding: 0; list-style: none; }
.chip {
  padding: .05rem .5rem; border-radius: 99px; background: var(--grid); color: var(--soft); overflow-wrap: anywhere;
}
.chip.good { background: var(--good-wash); color: var(--good); }
.chip.bad { background: var(--bad-wash); color: var(--bad); }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0 0; font-size: .85rem; color: var(--faint); }
.key b {
  display: inline-grid; place-items: center; width: 1.15rem; height: 1.15rem; margin-right: .4rem; border-radius:
  5px; color: var(--card); font-size: .7rem;
}
.key .good b { background: var(--good); } .key .bad b { background: var(--bad); }
.captions .tile .caption { white-space: normal; }
.wide-tiles .tiles { grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); }
.sort { all: unset; cursor: pointer; }
.sort:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.sort::after { content: " ↕"; color: var(--grid); }
[aria-sort=ascending] .sort::after { content: " ↑"; color: var(--accent); }
[aria-sort=descending] .sort::after { content: " ↓"; color: var(--accent); }
.filter {
  font: inherit; font-size: .9rem; margin: .7rem 0 0; padding: .35rem .7rem; width: min(18rem, 100%); color: var(--ink);
  background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
}
.picture[role=button] { cursor: zoom-in; }
.enlarged {
  border: 0; border-radius: 16px; padding: 1rem; background: var(--card); color: var(--ink); max-width: 92vw;
}
.enlarged::backdrop { background: rgb(17 20 26 / .8); }
.enlarged .stage > * {
  display: block; max-width: 86vw; max-height: 76vh; min-width: min(26rem, 80vw); object-fit: contain;
}
.enlarged p { margin: .6rem 0 0; font-size: .9rem; color: var(--soft); overflow-wrap: anywhere; }
.enlarged .close {
  font: inherit; font-size: .9rem; float: right; margin: 0 0 .6rem; padding: .2rem .8rem; cursor: pointer;
  color: var(--accent); background: var(--accent-wash); border: 0; border-radius: 99px;
}
.book { width: 32rem; }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.heat td { text-align: right; background: color-mix(in srgb, var(--series-0) calc(var(--share) * 55%), transparent); }
.heat td, .heat thead th { padding-left: .5rem; padding-right: .5rem; }
.heat thead th { white-space: normal; text-align: right; vertical-align: bottom; overflow-wrap: anywhere; }
.heat thead th:first-child { text-align: left; }
.heat .own { outline: 1px solid var(--line); }
.names > .card + .card { margin-top: 1.3rem; }
details.part > summary { padding: .2rem 0; }
details.part > .blocks { margin-top: 1rem; }
details.one { scroll-margin-top: 4.5rem; }
details.one > summary { font-size: 1rem; font-weight: 550; padding: .45rem 0; }
details.one + details.one { border-top: 1px solid var(--line); }
.one-name { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: .4rem 1.6rem; padding: .4rem 0 1rem; }
.one-name > p { grid-column: 1 / -1; margin: 0; color: var(--soft); }
.one-name svg { width: 100%; height: auto; }
.one-name h4 { margin: 0 0 .3rem; font-size: .9rem; font-weight: 600; color: var(--soft); }
.one-name .tiles + h4 { margin-top: .8rem; }
.list { margin: .6rem 0 0; padding-left: 1.2rem; color: var(--soft); }
.list li + li { margin-top: .3rem; }
footer {
  margin-top: 4rem; padding-top: 1.6rem; border-top: 1px solid var(--line); color: var(--faint); font-size: .88rem;
}
.versions { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1.4rem; margin: .7rem 0 0; }
.versions dt { color: var(--soft); }
.versions dd { margin: 0; font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 820px) {
  .blocks > .half { grid-column: 1 / -1; }
  .row, .one-name { grid-template-columns: minmax(0, 1fr); }
  .lead-tile { max-width: 11rem; }
}
@media print {
  body { background: #fff; } nav.contents, .filter { display: none; }
  .card, .fact { box-shadow: none; } .card, .row { break-inside: avoid; }
}
""".strip()
