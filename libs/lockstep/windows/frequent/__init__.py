"""frequent and lossyFrequent (semantics 7.11)."""
