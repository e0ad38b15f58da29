"""A collector that other people wrote, between the suite and who keeps the spans."""
