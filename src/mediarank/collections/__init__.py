"""Where media and labels come from: one file a source, each reading one layout into the canonical form."""
