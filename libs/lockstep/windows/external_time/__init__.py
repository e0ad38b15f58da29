"""externalTime(attribute, t) (semantics 7.7)."""
