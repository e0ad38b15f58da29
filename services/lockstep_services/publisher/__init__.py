"""Delivers output logs to sinks."""
