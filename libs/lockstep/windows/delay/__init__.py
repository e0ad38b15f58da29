"""delay(t) (semantics 7.6)."""
