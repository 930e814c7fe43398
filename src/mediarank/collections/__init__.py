"""Sources of media and labels: one file per source; each reads one layout into the canonical form."""
