"""Lockstep: highly available, distributed complex-event processing on Spark."""

__version__ = "0.1.0"
