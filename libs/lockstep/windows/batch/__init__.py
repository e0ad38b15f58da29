"""batch([n]) (semantics 7.12)."""
