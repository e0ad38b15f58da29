"""Versions of apps in PostgreSQL: written in the transaction that writes the deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from lockstep.store.contract import Deployment
from lockstep.store.postgres.connection import available
from lockstep.store.rules import next_version
from lockstep.store.versions import AppVersion, Deploying, HowDeployed

_COLUMNS: Final = "app, number, digest, size_bytes, deployed_ms, who, how"
NEWEST: Final = f"""
select {_COLUMNS} from lockstep.app_versions where app = $1 order by number desc limit 1
"""  # noqa: S608  (constants of this module)
LIST: Final = f"""
select {_COLUMNS} from lockstep.app_versions where app = $1 order by number desc
"""  # noqa: S608
INSERT: Final = f"""
insert into lockstep.app_versions ({_COLUMNS}, text) values ($1, $2, $3, $4, $5, $6, $7, $8)
"""  # noqa: S608
TRIM: Final = "delete from lockstep.app_versions where app = $1 and number <= $2"
PURGE: Final = "delete from lockstep.app_versions where app = $1"


async def note(connection: Any, deployment: Deployment, deploying: Deploying) -> None:
    """The text is a version; within the transaction of the deployment, which holds the epoch."""
    newest = await connection.fetchrow(NEWEST, deployment.app)
    added = next_version(deployment, deploying, None if newest is None else _version(newest))
    if added is not None:
        one = replace(added, who=added.who.replace("\0", ""))
        await connection.execute(
            INSERT, one.app, one.number, one.digest, one.size_bytes, one.deployed_ms, one.who,
            one.how.value, deployment.text,
        )  # fmt: skip
        await connection.execute(TRIM, one.app, one.number - deploying.keep)


class PostgresVersions:
    """See contract.AppVersions."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def list(self, app: str) -> Sequence[AppVersion]:
        async with available():
            rows = await self._pool.fetch(LIST, app)
        return [_version(row) for row in rows]

    async def text(self, app: str, number: int) -> str | None:
        async with available():
            found: str | None = await self._pool.fetchval(
                "select text from lockstep.app_versions where app = $1 and number = $2", app, number
            )
        return found


def _version(row: Any) -> AppVersion:
    return AppVersion(**{**row, "how": HowDeployed(row["how"])})
