"""Metrics of rankings, and the report page that shows them.

In reading order: `ranks` (places of the relevant items, ties), `metrics` (one query), `keywords` and `pairs` (the
measures of annotation and attributes), `significance` (how sure a mean is), `protocols` (a score matrix against
judgments, as tables), `measured` (what the evaluation stage keeps). Then the page: `figures` (SVG), `html`, `page_style`
and `page_script`, `blocks`, `folded` and `report`, and the sections made of them: `answers`, `name_details`,
`confusion`, `sections` and `ranking_section`. `report_summary` and `version_changes` compare two versions.
"""
