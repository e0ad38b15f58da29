# name: sessions
# cron: 0 30 6 * * ? Europe/Berlin
# output: table sessions
# retries: 2
# time-limit: 30 min
"""Every morning: how long visits take, and how many clicks they have, over all that is archived.

A visit ends after ten quiet minutes, as in the sample app `visits`.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as f

QUIET_MS = 600_000


def run(batch: Any) -> Any:
    """`batch` gives the archive as DataFrames; the rows that are returned are kept."""
    clicks = batch.stream("Visits", "Click", "input").select("visitor", "_timestamp_ms")
    in_order = Window.partitionBy("visitor").orderBy("_timestamp_ms")
    pause_ms = f.col("_timestamp_ms") - f.lag("_timestamp_ms").over(in_order)
    begins = f.coalesce(pause_ms > QUIET_MS, f.lit(True)).cast("int")
    visits = (
        clicks.withColumn("begins", begins)
        .withColumn("visit", f.sum("begins").over(in_order))
        .groupBy("visitor", "visit")
        .agg(
            f.count("*").alias("clicks"),
            (f.max("_timestamp_ms") - f.min("_timestamp_ms")).alias("took_ms"),
        )
    )
    return visits.agg(
        f.count("*").alias("visits"),
        f.countDistinct("visitor").alias("visitors"),
        f.avg("clicks").alias("mean_clicks"),
        f.percentile_approx("took_ms", 0.5).alias("median_ms"),
        f.max("took_ms").alias("longest_ms"),
    )
