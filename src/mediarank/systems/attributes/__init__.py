"""`attributes`: which of two items shows more of an attribute? (paper 004)"""
