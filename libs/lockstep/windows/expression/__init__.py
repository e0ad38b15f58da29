"""expression('condition') (semantics 7.14)."""
