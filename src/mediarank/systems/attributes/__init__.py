"""`attributes`: which of two shows more of it? (paper 004)"""
