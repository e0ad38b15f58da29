"""sort(n, attribute …) (semantics 7.10)."""
