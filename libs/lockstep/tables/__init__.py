"""Tables, and the queries that read and write them (semantics 10)."""
