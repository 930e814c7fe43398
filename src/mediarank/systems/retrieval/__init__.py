"""`retrieval`: what looks like this one? (paper 003)"""
