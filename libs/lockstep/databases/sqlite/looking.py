"""An SQLite table, read whole whenever its file has changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from lockstep.databases.comparing import MAX_COMPARED_ROWS, by_key
from lockstep.databases.contract import TableShape
from lockstep.databases.datasources import Datasource
from lockstep.databases.sqlite.files import (
    Connection,
    SqliteAwayError,
    SqliteThreads,
    Turn,
    opened,
    told,
    translated,
)
from lockstep.databases.sqlite.values import quoted, read_rows, selected

Row = tuple[Any, ...]


class SqliteLooking:
    """See `Looking`. One connection looks all the time: it is told whether another one has
    committed anything to the file since."""

    def __init__(self, datasource: Datasource, shape: TableShape) -> None:
        self._datasource = datasource
        self._shape = shape
        self._where = f"{datasource.name}.{shape.table}"
        self._threads = SqliteThreads(datasource, 1)
        self._connection: Connection | None = None
        self._file: tuple[int, int] | None = None
        self._version: int | None = None
        self._select = f"SELECT {selected(shape, 't')} FROM {quoted(shape.table)} AS t"  # noqa: S608

    async def look(self) -> Mapping[Row, Row] | None:
        """See `Looking`. All rows are of one moment."""
        with told(self._where):
            found = await self._threads.run(self._read)
        if found is None:
            return None
        self._version, rows = found
        return rows

    async def close(self) -> None:
        """See `Looking`."""
        self._threads.leave(self._end)

    def _read(self, turn: Turn) -> tuple[int, Mapping[Row, Row]] | None:
        with translated():
            connection = self._opened()
            with turn.on(connection):
                # Before the rows: what is committed in between is seen at the next look.
                [version] = connection.execute("PRAGMA data_version").fetchone()
                if version == self._version:
                    return None
                with closing(connection.execute(self._select)) as cursor:
                    found = cursor.fetchmany(MAX_COMPARED_ROWS + 1)
        rows = read_rows(found, self._shape, self._where)
        return version, by_key(rows, self._shape, self._where)

    def _opened(self) -> Connection:
        """The connection; another one where another file has come into the place of the first."""
        try:
            found = os.stat(self._datasource.database)
        except OSError as error:
            self._end()
            raise SqliteAwayError(os.strerror(error.errno or 0).lower()) from error
        file = found.st_dev, found.st_ino
        if self._connection is None or file != self._file:
            self._end()
            self._connection, self._file = opened(self._datasource), file
            self._connection.execute("PRAGMA query_only = ON")
        return self._connection

    def _end(self) -> None:
        connection, self._connection, self._version = self._connection, None, None
        if connection is not None:
            connection.close()
