"""Flink SQL beside the engine, on NEXMark's queries."""
