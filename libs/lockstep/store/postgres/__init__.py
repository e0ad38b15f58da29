"""A store in PostgreSQL. One of the two doors of asyncpg."""

from lockstep.store.postgres.away import why_away
from lockstep.store.postgres.poolers import Connecting
from lockstep.store.postgres.reading import read_rows
from lockstep.store.postgres.sessions import session_settings
from lockstep.store.postgres.store import PostgresStore

__all__ = ["Connecting", "PostgresStore", "read_rows", "session_settings", "why_away"]
