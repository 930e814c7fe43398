"""`annotation`: which keywords fit this image? (paper 001)"""
