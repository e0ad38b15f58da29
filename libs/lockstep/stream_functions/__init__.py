"""Stream functions (semantics 21)."""
