"""Output rates: by number, by time, snapshots (semantics 14)."""
