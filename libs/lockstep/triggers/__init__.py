"""define trigger (semantics 16)."""
