"""Revisions: where a replica begins, what it stores, how it goes over to another state."""
