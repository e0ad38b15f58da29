"""MySQL and MariaDB: which server answers."""

from __future__ import annotations

from typing import Any, Final

import aiomysql
import pymysql

from lockstep.databases.contract import DatabaseError
from lockstep.databases.datasources import Datasource
from lockstep.events import UnavailableError

CONNECT_TIMEOUT_S: Final = 5
NO_CONNECTION: Final = range(2000, 2100)


async def mysql_server_of(datasource: Datasource) -> str:
    """What answers, in few words. Errors: UnavailableError, DatabaseError."""
    try:
        connection = await aiomysql.connect(
            host=datasource.host,
            port=datasource.port,
            user=datasource.username,
            password=datasource.password,
            db=datasource.database,
            connect_timeout=CONNECT_TIMEOUT_S,
            ssl=datasource.tls,
        )
        check_encrypted(connection, datasource)
    except (pymysql.MySQLError, OSError) as error:
        number = error.args[0] if error.args else 0
        if isinstance(error, OSError) or number in NO_CONNECTION:
            raise UnavailableError(
                f"the database is away: {error}", where=datasource.name
            ) from error
        raise DatabaseError(str(error), where=datasource.name) from error
    try:
        # MariaDB begins with a version that old clients of MySQL understand.
        version = str(connection.get_server_info()).removeprefix("5.5.5-")
    finally:
        connection.close()
    return f"{'MariaDB' if 'Maria' in version else 'MySQL'} {version}"


def check_encrypted(connection: Any, datasource: Datasource) -> None:
    """The driver goes on plainly with a server that offers no TLS. OSError."""
    if datasource.wants_tls and not connection._secure:
        connection.close()
        raise ConnectionError(f"the server of {datasource.name} speaks no TLS")
