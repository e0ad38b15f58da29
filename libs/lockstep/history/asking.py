"""Spark SQL over what was archived: a view for each stream, named as in the app."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.pandas.types import from_arrow_schema

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place, place_of_settings
from lockstep.archive.reading import apps_of, lives_of
from lockstep.archive.tables import Table, folders_below, rows_of_file
from lockstep.execute.spark.bulk import Work, parquet_frame, rows_frame, run_tasks, session_of
from lockstep.execute.spark.session import SparkOptions
from lockstep.execute.spark.streamed import SMALL_PARTITIONS, Streamed, Told
from lockstep.history.errors import HistoryError
from lockstep.settings import Settings, load_settings

BOTH: dict[str, str] = {naming.INPUT: "in", naming.OUTPUT: "out"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A table, and of which side of which logs it is; `logs` None: what a script put out."""

    table: Table
    side: str = ""
    logs: naming.Logs | None = None


Looking = Callable[[Kept, DataFrame], DataFrame]
"""Which rows of a table somebody sees."""


class History:
    """What is archived, for PySpark. It looks at the tables as they are when it is asked."""

    def __init__(
        self,
        place: Place | None = None,
        settings: Settings | None = None,
        local_directory: str | None = None,
    ) -> None:
        """`local_directory`: where Spark puts what does not fit into memory."""
        self._settings = settings or load_settings()
        self._options = spark_options(self._settings, local_directory)
        found = place or place_of_settings(self._settings.archive)
        if found is None:
            raise HistoryError(
                "no archive is named", hint="set LOCKSTEP_ARCHIVE__FOLDER to where it is"
            )
        self.place = found

    @property
    def session(self) -> SparkSession:
        """Spark, started when it is first needed."""
        return session_of(self._options)

    def stream(self, app: str, stream: str, side: str | None = None) -> DataFrame:
        """All that is archived of a stream: what came in, or what was published (`side`: input or
        output; what there is, output first)."""
        return self.frame(self.kept(app, stream, side))

    def kept(self, app: str, stream: str, side: str | None = None) -> list[Kept]:
        """Its tables; HistoryError where there are none."""
        for one in (naming.OUTPUT, naming.INPUT) if side is None else (side,):
            tables = self._tables(app, one).get(stream)
            if tables:
                return tables
        raise HistoryError(
            f"the archive has no stream '{stream}' of '{app}'",
            where=self.place.folder,
            hint="`lockstep archive list` says what there is",
        )

    def query(self, sql: str, app: str | None = None) -> DataFrame:
        """A query over `views`."""
        views = self.views(app)
        session = self.session
        for name in named_in(sql, views):
            self.frame(views[name]).createOrReplaceTempView(f"`{name}`")
        return session.sql(sql)

    def views(self, app: str | None = None) -> dict[str, list[Kept]]:
        """What a query can name: `Stream`, and `Stream__in` and `Stream__out` for what came in and
        what was published; `App__Stream` where several apps have a stream of that name;
        `batch__table` for what scripts put out."""
        apps = [app] if app is not None else apps_of(self.place)
        owners: dict[str, int] = {}
        views: dict[str, list[Kept]] = {}
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
        for folder in folders_below(self.place, naming.BATCH):
            path = f"{naming.BATCH}/{folder}"
            shapes = folders_below(self.place, path)
            views[f"batch__{naming.name_of(folder)}"] = [
                Kept(Table(self.place, f"{path}/{shape}")) for shape in shapes
            ]
        return views

    def _tables(self, app: str, side: str) -> dict[str, list[Kept]]:
        found: dict[str, list[Kept]] = {}
        for logs in lives_of(self.place, app):
            for name, table in SideArchive(self.place, logs, side).tables():
                found.setdefault(name.stream, []).append(Kept(table, side, logs))
        return found

    def frame(self, tables: list[Kept], seen: Looking = lambda _, frame: frame) -> DataFrame:
        """The rows of tables, as far as somebody sees them."""
        frames = [seen(one, self._one(one.table)) for one in tables]
        found = reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), frames)
        if naming.TIMESTAMP not in found.columns:
            return found
        return found.withColumn("_time", functions.timestamp_millis(naming.TIMESTAMP))

    def _one(self, table: Table) -> DataFrame:
        session = self.session
        files = table.files()
        if files and self.place.is_folder:
            return parquet_frame(session, table.address, files)
        dataset = table.dataset()
        assert dataset is not None
        schema = pa.schema([one for one in dataset.schema if one.name != naming.DAY])
        if not files:
            return session.createDataFrame([], from_arrow_schema(schema))
        read = partial(rows_of_file, Place(self.place.folder, dict(self.place.options)))
        return rows_frame(session, files, from_arrow_schema(schema), read)


def named_in(sql: str, names: Iterable[str]) -> list[str]:
    """Those that a query may name."""
    text = sql.lower()
    return [name for name in names if name.lower() in text]


def spark_options(settings: Settings, local_directory: str | None = None) -> SparkOptions:
    """Where and with how much Spark runs, as the settings say."""
    spark = settings.spark
    return SparkOptions(
        master=spark.master,
        driver_memory=spark.driver_memory,
        executor_memory=spark.executor_memory,
        executor_cores=spark.executor_cores,
        cluster_max_cores=spark.cluster_max_cores,
        app_name="lockstep history",
        local_directory=local_directory,
    )


def run_on_spark(settings: Settings, work: Work, requests: Sequence[bytes]) -> list[bytes]:
    """What is made of each request, on the executors that the settings name. SparkFailedError."""
    return run_tasks(work, requests, spark_options(settings))


def answered(history: History, sql: str, app: str | None, limit: int) -> pa.Table:
    """The rows of a query, no more than `limit`; HistoryError for one that Spark refuses."""
    found = streamed(history, sql, app, limit)
    return pa.Table.from_batches(found, found.schema)


def streamed(
    history: History,
    sql: str,
    app: str | None,
    limit: int | None,
    told: Told = lambda done, known: None,
) -> Streamed:
    """The same as the rows come, which are not held together. None: all rows there are."""

    def make() -> DataFrame:
        if limit is not None:
            return history.query(sql, app).limit(limit)
        for name, value in SMALL_PARTITIONS.items():
            history.session.conf.set(name, value)
        return history.query(sql, app)

    return Streamed(make, told)


def stream(app: str, name: str, side: str | None = None) -> DataFrame:
    """What the archive of the settings has of a stream, as a PySpark DataFrame."""
    return History().stream(app, name, side)
