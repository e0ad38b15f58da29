"""expressionBatch('condition' …) (semantics 7.15)."""
