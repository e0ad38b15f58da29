"""Windows, a folder each: what it declares, what it means, how it runs in columns (semantics 7)."""
