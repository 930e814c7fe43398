"""From features to scores: many small SVMs, and a quick way to score items with all of them.

`bags.py` draws the training examples, `svm.py` fits one SVM to one bag, `calibration.py` turns its decisions into
probabilities, `pool.py` holds all SVMs of a feature type and scores with all of them at once, `concept.py` scores with
those of one concept, `training.py` makes a pool from a feature matrix and judgments.
"""
