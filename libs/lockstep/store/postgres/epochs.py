"""The epoch of the coordinator's writes: checked and moved in the transaction that writes."""

from __future__ import annotations

from typing import Any, Final

from lockstep.store.contract import Stale

DEPLOYMENTS_EPOCH: Final = "deployments"

# One statement checks and moves the epoch; its row lock makes writers take turns.
PASS_EPOCH: Final = """
insert into lockstep.epochs as e (name, epoch) values ($1, $2)
on conflict (name) do update set epoch = excluded.epoch where e.epoch <= excluded.epoch
returning epoch
"""
PRESENT_EPOCH: Final = "select epoch from lockstep.epochs where name = $1"


async def pass_epoch(connection: Any, epoch: int) -> Stale | None:
    """None and the epoch noted, or why the write is refused."""
    if await connection.fetchval(PASS_EPOCH, DEPLOYMENTS_EPOCH, epoch) is not None:
        return None
    return Stale(await connection.fetchval(PRESENT_EPOCH, DEPLOYMENTS_EPOCH))
