"""Learners over kernels: RankMKL (paper 004) and kernel ridge."""
