"""How good a ranking is, and one page that shows it.

In reading order: `ranks` (who stands where, ties), `metrics` (one query), `keywords` and `pairs` (the measures of
annotation and attributes), `significance` (how sure a mean is), `protocols` (a score matrix against judgments, as
tables), `figures` (SVG), `html`, `blocks`, `report` and `sections` (the offline page).
"""
