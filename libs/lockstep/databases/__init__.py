"""Databases of others: named datasources, and tables that are followed (see DESIGN.md)."""

from lockstep.databases.contract import (
    Asking,
    ChangeBatch,
    DatabaseError,
    Following,
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
    read_datasources,
)
from lockstep.databases.opening import (
    check_datasource,
    open_asking,
    open_following,
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
    "ReadRows",
    "RowChange",
    "TableShape",
    "check_datasource",
    "datasource_for",
    "datasource_of_url",
    "open_asking",
    "open_following",
    "read_datasource",
    "read_datasources",
]
