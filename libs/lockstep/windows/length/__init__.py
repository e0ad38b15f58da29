"""length(n) (semantics 7.1)."""
