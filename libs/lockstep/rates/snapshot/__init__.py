"""output snapshot every t (semantics 14.3)."""
