"""Features in, scores out: many small support vector machines, and a quick way to ask them all.

`bags.py` draws the training examples, `svm.py` fits one machine to one bag, `calibration.py` turns its decisions into
probabilities, `pool.py` holds every machine of a feature type and scores with all of them at once, `training.py`
makes a pool out of a feature matrix and judgments.
"""
