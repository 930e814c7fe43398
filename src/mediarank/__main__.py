"""`python -m mediarank` is the command line."""

from mediarank.cli import main

main()
