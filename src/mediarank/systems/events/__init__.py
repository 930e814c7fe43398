"""`events`: in which clips does it happen? (paper 002)"""
