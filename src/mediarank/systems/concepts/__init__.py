"""`concepts`: which items show *boat*? (paper 000)"""
