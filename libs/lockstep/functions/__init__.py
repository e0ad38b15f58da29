"""Functions of expressions (semantics 21)."""
