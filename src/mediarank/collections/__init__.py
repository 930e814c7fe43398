"""Where media and labels come from: one file per source, each of which reads one layout into the canonical form."""
