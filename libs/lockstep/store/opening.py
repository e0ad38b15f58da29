"""Opens the store that the settings name."""

from __future__ import annotations

from lockstep.settings import Settings
from lockstep.store.contract import Store
from lockstep.store.filesystem import FileStore
from lockstep.store.memory import MemoryStore
from lockstep.store.postgres import PostgresStore


async def open_store(settings: Settings) -> Store:
    """The open store; UnavailableError. A memory store is seen by nobody but who holds it."""
    store = settings.store
    if store.kind == "postgres":
        return await PostgresStore.connect(
            store.postgres_dsn.get_secret_value(),
            max_connections=store.pool_max_connections,
            statement_timeout_ms=store.statement_timeout_ms,
        )
    if store.kind == "file":
        return FileStore(store.directory / "store")
    return MemoryStore()
