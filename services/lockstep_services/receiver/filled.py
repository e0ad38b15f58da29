"""The databases of tables, with the secrets of their apps filled in."""

from __future__ import annotations

from collections.abc import Collection

from lockstep.databases import Datasource, Datasources
from lockstep.events import UnavailableError
from lockstep.secrets import SecretError, Vault
from lockstep.siddhiql import ast
from lockstep.siddhiql.secrets import with_secrets
from lockstep.telemetry import Logger
from lockstep_services.receiver.stores import datasource_of_store


class FilledStores:
    """For tables that are looked up or copied, of all apps."""

    def __init__(self, vault: Vault, known: Datasources, default_dsn: str, log: Logger) -> None:
        self._vault = vault
        self._known = known
        self._default_dsn = default_dsn
        self._log = log
        self._waiting: set[tuple[str, str]] = set()
        """Apps and tables of which the log tells that a secret is missing."""

    def datasource(self, app: str, store: ast.Annotation, table: str) -> Datasource:
        """Which database a store means; `table`: what is read there. UnavailableError while a
        secret cannot be had: messages wait, as for a database that is away. Where the secret is
        looked for stands in the log alone, once. DatasourceError."""
        try:
            filled = with_secrets(store, lambda name: self._vault.value(app, name))
        except SecretError as error:
            if (app, table) not in self._waiting:
                self._waiting.add((app, table))
                self._log.warning(
                    "a table waits for a secret", app=app, table=table, error=str(error)
                )
            raise UnavailableError(
                f"the database of table {table!r} needs {error.where}, which cannot be had",
                hint="the receiver's log says where it belongs",
            ) from error
        self._waiting.discard((app, table))
        return datasource_of_store(filled, table, self._known, self._default_dsn)

    def keep(self, apps: Collection[str]) -> None:
        """Forgets all other apps: they are not deployed any more."""
        self._waiting = {one for one in self._waiting if one[0] in apps}
