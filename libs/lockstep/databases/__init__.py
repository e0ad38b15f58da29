"""Databases of others: named datasources, and tables that are followed (see DESIGN.md)."""

from lockstep.databases.contract import (
    Asking,
    ChangeBatch,
    DatabaseError,
    Following,
    Memory,
    ReadRows,
    RowChange,
    TableShape,
)
from lockstep.databases.datasources import (
    Datasource,
    DatasourceError,
    Datasources,
    datasource_for,
    datasource_of_url,
    mongodb_at,
    read_datasources,
    redis_at,
)
from lockstep.databases.listening import Listening, RowEvent, RowOperation
from lockstep.databases.opening import (
    check_datasource,
    open_asking,
    open_following,
    open_listening,
    open_polling,
    read_datasource,
)

__all__ = [
    "Asking",
    "ChangeBatch",
    "DatabaseError",
    "Datasource",
    "DatasourceError",
    "Datasources",
    "Following",
    "Listening",
    "Memory",
    "ReadRows",
    "RowChange",
    "RowEvent",
    "RowOperation",
    "TableShape",
    "check_datasource",
    "datasource_for",
    "datasource_of_url",
    "mongodb_at",
    "open_asking",
    "open_following",
    "open_listening",
    "open_polling",
    "read_datasource",
    "read_datasources",
    "redis_at",
]
