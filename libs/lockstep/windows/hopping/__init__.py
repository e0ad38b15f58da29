"""hopping(t, hop) (semantics 7.16)."""
