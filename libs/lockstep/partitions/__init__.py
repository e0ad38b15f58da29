"""Partitions: an instance of the queries inside per key (semantics 15)."""
