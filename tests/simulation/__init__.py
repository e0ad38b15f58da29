"""The five services in one process, on a virtual clock, under faults drawn from a seed."""
