"""Media -> vectors.

`base.py` has the contract and `registry.py` the families by name, one idea a file. Shared by families: `pixels`,
`colour_space`, `granularity`, `normalise`, `filter_bank`, `local_points`. From local descriptors to a vector:
`codebook`, `bag_of_words`. Over a collection: `matrix`, which takes from `remembered` what `cache` may already have.
For people: `check` (a battery for new families), `summary` (of a matrix), `pictures` (what each family sees).
"""
