"""Scheduled scripts: run by the publisher that holds their lease, each run's output once."""
