"""Scripts in SQL and PySpark over the archive, run at their times, each output once."""
