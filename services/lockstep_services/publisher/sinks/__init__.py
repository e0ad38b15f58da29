"""Sinks that keep their cursor in the store, and the file that is its own."""
