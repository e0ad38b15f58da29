"""Spark SQL over what was archived: a view for each stream, named as in the app."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.pandas.types import from_arrow_schema

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place, place_of_settings
from lockstep.archive.reading import apps_of, lives_of
from lockstep.archive.shapes import Clash, layout_of
from lockstep.archive.tables import Table, as_shape, folders_below, rows_of_file
from lockstep.archive.view_names import Claim, by_name, named_in, told
from lockstep.events import LockstepError
from lockstep.execute.spark.bulk import Work, parquet_frame, rows_frame, run_tasks, session_of
from lockstep.execute.spark.session import SparkOptions
from lockstep.execute.spark.streamed import SMALL_PARTITIONS, Streamed, Told
from lockstep.history.errors import HistoryError
from lockstep.settings import Settings, load_settings

_NO_VIEW: Final = "TABLE_OR_VIEW_NOT_FOUND"
_NO_COLUMN: Final = "UNRESOLVED_COLUMN"


@dataclass(frozen=True, slots=True)
class Kept:
    """A table, and of which side of which logs it is; `logs` None: what a script put out."""

    table: Table
    side: str = ""
    logs: naming.Logs | None = None


Looking = Callable[[Kept, DataFrame], DataFrame]
"""Which rows of a table somebody sees."""


def _all(_: Kept, frame: DataFrame) -> DataFrame:
    return frame


@dataclass(frozen=True, slots=True)
class View:
    """Tables that stand together, and which of their rows a query sees."""

    tables: Sequence[Kept]
    seen: Looking = _all


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
        self._registered: set[str] = set()

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
        """A query over `views`. HistoryError, AnalysisException."""
        return self.asked(sql, self.claims(app))

    def asked(
        self, sql: str, claims: Iterable[Claim[View]], args: Mapping[str, Any] | None = None
    ) -> DataFrame:
        """A query over views that want to be called so. What cannot be a view counts only where the
        query asks for it. HistoryError, AnalysisException."""
        session = self.session
        wanted = by_name(claims)
        refused: dict[str, Exception] = {}
        clashes: list[tuple[str, Clash]] = []
        for name in named_in(sql, self._registered):  # of an earlier query over others
            session.catalog.dropTempView(name)
        for name in named_in(sql, wanted):
            several = wanted[name]
            first = several[0]
            try:
                if len(several) > 1:
                    message, hint = told(first.name, several, wanted)
                    raise HistoryError(message, hint=hint)
                frame, found = self._together(first.what.tables, first.what.seen)
            except (LockstepError, AnalysisException) as error:
                refused[name] = error
                continue
            frame.createOrReplaceTempView(f"`{first.name}`")
            self._registered.add(first.name)
            clashes += [(first.name, one) for one in found]
        try:
            return session.sql(sql, args=dict(args or {}))
        except AnalysisException as error:
            meant = _meant(error, refused, clashes)
            if meant is error:
                raise
            raise meant from error

    def views(self, app: str | None = None) -> dict[str, Sequence[Kept]]:
        """What a query can name: `Stream`, and `Stream__in` and `Stream__out` for what came in and
        what was published; `App__Stream` where several apps have a stream of that name;
        `batch__table` for what scripts put out. Case does not count: what differs in it alone has
        no view."""
        wanted = by_name(self.claims(app)).values()
        return {several[0].name: several[0].what.tables for several in wanted if len(several) == 1}

    def claims(self, app: str | None = None) -> list[Claim[View]]:
        """The same, also of names that several want."""
        apps = [app] if app is not None else apps_of(self.place)
        found: list[Claim[View]] = []
        for one in apps:
            sides: list[Claim[View]] = []
            plain: dict[str, Claim[View]] = {}
            for side in (naming.INPUT, naming.OUTPUT):
                for stream, tables in self._tables(one, side).items():
                    source = f"{naming.CAME[side]} '{stream}' of the app '{one}'"
                    plain[stream] = Claim(stream, View(tables), source)
                    sides.append(Claim(f"{stream}__{naming.SIDES[side]}", View(tables), source))
            for claim in (*plain.values(), *sides):
                found += [claim, replace(claim, name=f"{one}__{claim.name}")]
        for folder in folders_below(self.place, naming.BATCH):
            path = f"{naming.BATCH}/{folder}"
            shapes = folders_below(self.place, path)
            if shapes:
                name = naming.name_of(folder)
                kept = [Kept(Table(self.place, f"{path}/{shape}")) for shape in shapes]
                found.append(Claim(f"batch__{name}", View(kept), f"the script's table '{name}'"))
        return found

    def _tables(self, app: str, side: str) -> dict[str, list[Kept]]:
        found: dict[str, list[Kept]] = {}
        for logs in lives_of(self.place, app):
            for name, table in SideArchive(self.place, logs, side).tables():
                found.setdefault(name.stream, []).append(Kept(table, side, logs))
        return found

    def frame(self, tables: Sequence[Kept], seen: Looking = _all) -> DataFrame:
        """The rows of tables, as far as somebody sees them. An attribute whose types have nothing
        in common has a column for each kind: see `archive.shapes`."""
        return self._together(tables, seen)[0]

    def _together(self, tables: Sequence[Kept], seen: Looking) -> tuple[DataFrame, Sequence[Clash]]:
        frames = [seen(one, self._one(one.table)) for one in tables]
        shapes = [
            as_shape(one.table, dict(frame.dtypes))
            for one, frame in zip(tables, frames, strict=True)
        ]
        layout = layout_of(shapes, str.casefold)
        called = [_called(*each) for each in zip(frames, layout.names, strict=True)]
        found = reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), called)
        if naming.TIMESTAMP in found.columns:
            found = found.withColumn("_time", functions.timestamp_millis(naming.TIMESTAMP))
        return found, layout.clashes

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


def _called(frame: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """With other names for its columns, and without those that have none."""
    changed = {one: name for one, name in names.items() if one != name}
    left_out = [one for one in frame.columns if one not in names]
    if left_out:
        frame = frame.drop(*left_out)
    return frame.withColumnsRenamed(changed) if changed else frame


def _meant(
    error: AnalysisException,
    refused: Mapping[str, Exception],
    clashes: Sequence[tuple[str, Clash]],
) -> Exception:
    """What a query asks for that the archive has, and that no view or column can be."""
    condition, said = error.getCondition() or "", error.getMessageParameters() or {}
    if condition == _NO_VIEW:
        return refused.get(_last(said.get("relationName", "")), error)
    if condition.startswith(_NO_COLUMN):
        column = _last(said.get("objectName", ""))
        for stream, clash in clashes:
            if clash.column.casefold() == column:
                message, hint = clash.told(f"'{stream}'")
                return HistoryError(message, hint=hint)
    return error


def _last(quoted: str) -> str:
    """The last part of a name as Spark tells it, in small letters."""
    return quoted.strip("`").rsplit("`.`", 1)[-1].casefold()


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
