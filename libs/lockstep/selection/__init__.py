"""select, group by, having, order by, limit and offset (semantics 4 and 5)."""
