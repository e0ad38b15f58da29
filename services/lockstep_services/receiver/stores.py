"""Which database the store of a table means."""

from __future__ import annotations

from lockstep.connectors import mongodb, rdbms, redis
from lockstep.databases import (
    Datasource,
    DatasourceError,
    Datasources,
    datasource_for,
    mongodb_at,
    redis_at,
)
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import SignatureError


def datasource_of_store(
    store: ast.Annotation, table: str, known: Datasources, default_dsn: str
) -> Datasource:
    """With its secrets filled in; `table`: what is read there. DatasourceError, which holds none of
    them, also for a table of the suite's own database that is not for apps."""
    kind = (store.get("type") or "").lower()
    try:
        if kind == redis.REDIS:
            place = redis.place_of(store.get)
            return redis_at(place.host, place.port, place.password)
        if kind == mongodb.MONGODB:
            uri = store.get(mongodb.URI) or ""
            return mongodb_at(uri, mongodb.database_of(uri))
        rdbms.check_own_table(store.get, table)
    except ValueError as error:
        raise DatasourceError(str(error), where=kind) from error
    except SignatureError as error:
        raise DatasourceError(error.message, where=kind, hint=error.hint) from error
    return datasource_for(store.get, known, default_dsn)
