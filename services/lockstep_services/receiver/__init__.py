"""The front door: events in, durable records out."""
