"""How good a ranking is, and one page that shows it.

In reading order: `ranks` (who stands where, ties), `metrics` (one query), `keywords` and `pairs` (the measures of
annotation and attributes), `significance` (how sure a mean is), `protocols` (a score matrix against judgments, as
tables), `measured` (what the evaluation stage keeps of it). Then the page: `figures` (SVG), `html` and `page_style`,
`blocks` and `report`, and the sections made of them, `sections` and `ranking_section`.
"""
