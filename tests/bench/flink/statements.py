"""The events as files of CSV, and the statements by which Flink SQL reads and asks them.

Each stream has as many files as there are tasks, with every other round, so that tasks read them at
the same time and each file is in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv as pa_csv

from lockstep.events import AttributeType, StreamSchema
from tests.bench.nexmark.generator import Round

QUERIES: Final = Path(__file__).with_name("queries")
ROWTIME: Final = "rowtime"
KEYED: Final = "FOR SYSTEM_TIME AS OF"
LATENESS: Final = "INTERVAL '4' SECOND"  # that of the published queries
SQL_TYPES: Final[Mapping[AttributeType, str]] = {
    AttributeType.STRING: "STRING",
    AttributeType.INT: "INT",
    AttributeType.LONG: "BIGINT",
    AttributeType.FLOAT: "FLOAT",
    AttributeType.DOUBLE: "DOUBLE",
    AttributeType.BOOL: "BOOLEAN",
}
SETTINGS: Final[Mapping[str, str]] = {
    "table.local-time-zone": "UTC",
    # Those of the published benchmark:
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}


def table_of(schema: StreamSchema, folder: Path, *, has_time: bool, key: str | None) -> str:
    """CREATE TABLE for the stream's files. With a time: an attribute dateTime in milliseconds is
    the event time, and the watermark follows it."""
    lines = [f"`{one.name}` {SQL_TYPES[one.type]}" for one in schema.attributes]
    if has_time:
        lines.append(f"{ROWTIME} AS TO_TIMESTAMP_LTZ(`dateTime`, 3)")
        lines.append(f"WATERMARK FOR {ROWTIME} AS {ROWTIME} - {LATENESS}")
    if key is not None:
        lines.append(f"PRIMARY KEY (`{key}`) NOT ENFORCED")
    return (
        f"CREATE TABLE {schema.name} (\n  " + ",\n  ".join(lines) + "\n) WITH ("
        f"'connector' = 'filesystem', 'path' = '{folder.as_uri()}', 'format' = 'csv')"
    )


def statements(
    query: str,
    schemas: Iterable[StreamSchema],
    folder: Path,
    last_ms: int,
    settings: Mapping[str, str],
) -> str:
    """All that the driver needs for a query: settings, tables, and the query. Events get a time
    only where it is asked for, for that costs Flink something. `{last}` in a query is the moment
    of the last event: what only the end of the input closes is left out by it."""
    has_time = ROWTIME in query
    keyed = "Auction" if KEYED in query else None
    parts = [f"SET {name} = {value}" for name, value in settings.items()]
    for schema in schemas:
        key = "id" if schema.name == keyed else None
        parts.append(table_of(schema, folder / schema.name, has_time=has_time, key=key))
    parts.append(query.replace("{last}", _timestamp(last_ms)))
    return ";\n".join(part.strip() for part in parts) + ";\n"


def write_files(
    found: Sequence[Round], schemas: Iterable[StreamSchema], folder: Path, count: int
) -> None:
    """FOLDER/STREAM/N.csv, without a header and without quotes, which Flink reads faster."""
    plain = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    for schema in schemas:
        (folder / schema.name).mkdir(parents=True)
        for number in range(count):
            batches = [getattr(one, schema.name.lower()) for one in found[number::count]]
            file = folder / schema.name / f"{number}.csv"
            pa_csv.write_csv(pa.Table.from_batches(batches), file, plain)


def _timestamp(moment_ms: int) -> str:
    moment = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}.{moment_ms % 1000:03}'"
