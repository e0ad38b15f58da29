"""time(t) (semantics 7.3)."""
