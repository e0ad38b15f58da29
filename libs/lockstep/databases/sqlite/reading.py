"""Some rows of an SQLite file, once, without a way to change it; and what there is."""

from __future__ import annotations

from lockstep.databases.contract import ReadRows
from lockstep.databases.datasources import Datasource
from lockstep.databases.sqlite.files import VERSION, Connection, SqliteFile, told
from lockstep.databases.sqlite.values import quoted
from lockstep.databases.values import plain


async def sqlite_file_of(datasource: Datasource) -> str:
    """What there is, in few words. Errors: UnavailableError, DatabaseError."""

    def work(connection: Connection) -> tuple[str, int]:
        [tables] = connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
        ).fetchone()
        [mode] = connection.execute("PRAGMA journal_mode").fetchone()
        return str(mode), int(tables)

    file = SqliteFile(datasource)
    try:
        with told(datasource.name):
            mode, tables = await file.ask(work)
    finally:
        file.close()
    return f"SQLite {VERSION}, journal_mode={mode}, tables={tables}"


async def read_sqlite(
    datasource: Datasource, *, table: str, select: str, max_rows: int
) -> ReadRows:
    """Of the table, or what the SELECT gives. Errors: UnavailableError, DatabaseError."""
    source = f"({select.strip().rstrip(';')}\n)" if select else quoted(table)
    # A sub-query can be one SELECT and nothing else, and the library takes one statement.
    question = f"SELECT * FROM {source} AS found LIMIT {max_rows + 1}"  # noqa: S608

    def work(connection: Connection) -> ReadRows:
        cursor = connection.execute(question)
        columns = tuple(one[0] for one in cursor.description)
        found = cursor.fetchmany(max_rows + 1)
        rows = [[plain(value) for value in row] for row in found[:max_rows]]
        return ReadRows(columns, rows, is_cut=len(found) > max_rows)

    file = SqliteFile(datasource)
    try:
        with told(datasource.name):
            return await file.ask(work)
    finally:
        file.close()
