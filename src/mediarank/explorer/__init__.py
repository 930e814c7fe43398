"""The explorer: a local web page over asking/ and teaching/.

`snapshot` holds one version of the collection in memory, `filters` says which items are shown and in which order,
`doors` checks every request, `app` puts them together, and `views/` has one module per page.
"""
