"""timeBatch(t …) (semantics 7.4)."""
