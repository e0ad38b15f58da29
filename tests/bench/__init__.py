"""Figures of the engine and of the suite: throughput, latency, memory. Run by `make bench`."""
