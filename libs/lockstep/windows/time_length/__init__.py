"""timeLength(t, n) (semantics 7.5)."""
