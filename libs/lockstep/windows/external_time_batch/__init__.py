"""externalTimeBatch(attribute, t …) (semantics 7.8)."""
