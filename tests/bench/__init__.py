"""Figures of the engine: throughput, window growth, latency, memory. Run by `make bench`."""
