"""lengthBatch(n …) (semantics 7.2)."""
