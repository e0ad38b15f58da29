"""A plan set in motion: one contract, the reference, columns, and Spark."""
