"""Read models, event streams and the live page."""
