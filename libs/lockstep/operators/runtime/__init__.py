"""The engine: junctions, clock, timers, queries, partitions; what sets a plan's operators in
motion.
"""
