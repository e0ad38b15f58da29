"""Spark SQL over what was archived: a view for each stream, named as in the app."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place, place_of_settings
from lockstep.archive.reading import apps_of, lives_of
from lockstep.archive.tables import Table, opened_files
from lockstep.history.backtest import HistoryError
from lockstep.settings import Settings, load_settings

if TYPE_CHECKING:  # PySpark is a heavy import
    from pyspark.sql import DataFrame

BOTH: dict[str, str] = {naming.INPUT: "in", naming.OUTPUT: "out"}


class History:
    """What is archived, for PySpark. It looks at the tables as they are when it is asked."""

    def __init__(self, place: Place | None = None, settings: Settings | None = None) -> None:
        self._settings = settings or load_settings()
        found = place or place_of_settings(self._settings.archive)
        if found is None:
            raise HistoryError(
                "no archive is named", hint="set LOCKSTEP_ARCHIVE__FOLDER to where it is"
            )
        self.place = found

    def stream(self, app: str, stream: str, side: str | None = None) -> DataFrame:
        """All that is archived of a stream: what came in, or what was published (`side`: input or
        output; what there is, output first)."""
        for one in (naming.OUTPUT, naming.INPUT) if side is None else (side,):
            tables = self._tables(app, one).get(stream)
            if tables:
                return self._frame(tables)
        raise HistoryError(
            f"the archive has no stream '{stream}' of '{app}'",
            where=self.place.folder,
            hint="`lockstep archive list` says what there is",
        )

    def query(self, sql: str, app: str | None = None) -> DataFrame:
        """A query over views: `Stream`, and `Stream__in` and `Stream__out` for what came in and
        what was published; `App__Stream` where several apps have a stream of that name."""
        from lockstep.execute.spark.bulk import session_of

        session = session_of(spark_options(self._settings))
        apps = [app] if app is not None else apps_of(self.place)
        owners: dict[str, int] = {}
        views: dict[str, list[Table]] = {}
        for one in apps:
            mine: set[str] = set()
            for side in (naming.INPUT, naming.OUTPUT):
                for stream, tables in self._tables(one, side).items():
                    mine.add(stream)
                    for name in (stream, f"{stream}__{BOTH[side]}"):
                        views[f"{one}__{name}"] = tables
            for stream in mine:
                owners[stream] = owners.get(stream, 0) + 1
        for name in list(views):
            short = name.split("__", 1)[1]
            if owners.get(short.removesuffix("__in").removesuffix("__out")) == 1:
                views[short] = views[name]
        for name in views:
            if name.lower() in sql.lower():
                self._frame(views[name]).createOrReplaceTempView(f"`{name}`")
        return session.sql(sql)

    def _tables(self, app: str, side: str) -> dict[str, list[Table]]:
        found: dict[str, list[Table]] = {}
        for logs in lives_of(self.place, app):
            for name, table in SideArchive(self.place, logs, side).tables():
                found.setdefault(name.stream, []).append(table)
        return found

    def _frame(self, tables: list[Table]) -> DataFrame:
        from pyspark.sql import functions

        frames = [one for table in tables if (one := self._one(table)) is not None]
        found = reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), frames)
        return found.withColumn("_time", functions.timestamp_millis(naming.TIMESTAMP))

    def _one(self, table: Table) -> DataFrame | None:
        from lockstep.execute.spark.bulk import parquet_frame, rows_frame, session_of

        session = session_of(spark_options(self._settings))
        files = table.files()
        if not files:
            return None
        if self.place.is_folder:
            return parquet_frame(session, table.address, files)
        dataset = table.dataset()
        assert dataset is not None
        schema = pa.schema([one for one in dataset.schema if one.name != naming.DAY])
        read = partial(_rows_of_file, self.place.folder, dict(self.place.options))
        return rows_frame(session, files, _spark_schema(schema), read)


def spark_options(settings: Settings) -> Any:
    """Where and with how much Spark runs, as the settings say."""
    from lockstep.execute.spark.session import SparkOptions

    spark = settings.spark
    return SparkOptions(
        master=spark.master,
        driver_memory=spark.driver_memory,
        executor_memory=spark.executor_memory,
        executor_cores=spark.executor_cores,
        cluster_max_cores=spark.cluster_max_cores,
        app_name="lockstep history",
    )


def answered(history: History, sql: str, app: str | None, limit: int) -> pa.Table:
    """The rows of a query, no more than `limit`; HistoryError for one that Spark refuses."""
    from lockstep.execute.spark.bulk import rows_of_frame

    return rows_of_frame(lambda: history.query(sql, app).limit(limit))


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _rows_of_file(folder: str, options: dict[str, str], file: str) -> Iterator[pa.RecordBatch]:
    yield from opened_files(Place(folder, options), [file])


def stream(app: str, name: str, side: str | None = None) -> DataFrame:
    """What the archive of the settings has of a stream, as a PySpark DataFrame."""
    return History().stream(app, name, side)
