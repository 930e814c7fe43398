"""Feature families: media become vectors.

`base` has the contract, `families` the families by name, one file each. Shared by families: `pixels`, `colour_space`,
`granularity`, `normalise`, `filter_bank`, `local_points`. From local descriptors to a vector: `codebook`,
`bag_of_words`. A pretrained network: `network`, `network_model`, `efficientnet_lite0`, `torch_weights`.
Over a collection: `fitting` makes a `feature_type`, and `describe` extracts rows with it; `units` lists the work,
`cached_rows` takes existing rows from `cache`.
For people: `check` (a battery of checks for new families), `summary` (of a matrix), `pictures` (figures of features).
"""
