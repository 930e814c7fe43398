"""Keywords from labelled neighbours (paper 001) and the rules that score them."""
