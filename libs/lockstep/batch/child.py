"""The process of one run: a script over the archive, its rows into a file. It commits nothing.

Told by JSON on its standard input. What the script prints goes where its errors go: to who started
the process, who keeps the last lines. An error that nobody expected ends it with a traceback.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from lockstep.batch.fitting import NoRowsError, fitted
from lockstep.batch.header import Language
from lockstep.batch.task import Task
from lockstep.batch.views import Batch
from lockstep.embedded import prepare_spark_environment
from lockstep.events import LockstepError
from lockstep.events.typed import from_json
from lockstep.execute.spark.bulk import rows_of_frame
from lockstep.history.asking import History

FAILED: Final = 3
"""The exit code of a run that failed for a reason that stands in its last line."""


def rows_of(task: Task, batch: Batch) -> pa.Table:
    """What the script gives. NoRowsError, QueryRefusedError, SparkFailedError."""
    if task.language is Language.SQL:
        query = task.text.rstrip().removesuffix(";")
        found = rows_of_frame(lambda: batch.sql(query).limit(task.max_rows + 1))
    else:
        found = _rows_of_python(task, batch)
    if len(found) > task.max_rows:
        raise NoRowsError(
            f"it gives more than {task.max_rows} rows", hint="fewer, or raise batch.max_rows"
        )
    if found.nbytes > task.max_bytes:
        raise NoRowsError(
            f"its rows are more than {task.max_bytes} bytes",
            hint="fewer or shorter ones, or raise batch.max_bytes",
        )
    if not found.column_names:
        raise NoRowsError("it gives rows without a column")
    return fitted(found)


def _rows_of_python(task: Task, batch: Batch) -> pa.Table:
    module = ModuleType(task.name)
    code = compile(task.text, f"{task.name}.py", "exec", dont_inherit=True)
    exec(code, module.__dict__)
    given: Any = module.__dict__["run"](batch)
    if isinstance(given, pa.Table):
        return given
    if not hasattr(given, "toArrow"):
        raise NoRowsError(
            f"run(batch) gives {type(given).__name__}",
            hint="it has to return a DataFrame of PySpark, or a table of PyArrow",
        )
    return rows_of_frame(lambda: given.limit(task.max_rows + 1))


class _Lazy(History):
    """Looks for a Java when Spark is needed: some scripts need none."""

    @property
    def session(self) -> Any:
        prepare_spark_environment()
        return super().session


def main() -> int:
    """The exit code."""
    task = from_json(sys.stdin.buffer.read(), Task)
    history = _Lazy(local_directory=str(Path(task.result).parent))
    batch = Batch(history, task.due_ms, task.since_ms, task.after, task.up_to)
    try:
        rows = rows_of(task, batch)
    except LockstepError as error:
        sys.stderr.write(f"\n{type(error).__name__}: {' '.join(str(error).split())}\n")
        return FAILED
    pq.write_table(rows, task.result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
