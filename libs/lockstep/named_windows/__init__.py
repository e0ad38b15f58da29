"""define window (semantics 8)."""
