"""What a process keeps of an app goes with it: names that come and go do not fill it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lockstep.frame import Process
from tests.unit.services.suite import CLUSTER, Doors, bearer, running

TEXT = """
@app:name('{app}')
@source(type='http') define stream In (n long);
from In[n > {least}L] select n insert into Out;
"""


async def deploy(doors: Doors, app: str, least: int = 0) -> None:
    """In place of the one of that name."""
    body = {"text": TEXT.format(app=app, least=least)}
    status, told = await doors.ask(bearer(CLUSTER), "PUT", "/v1/apps", body)
    assert status < 300, told


async def send(doors: Doors, app: str) -> None:
    """One event."""
    path = f"/v1/apps/{app}/streams/In/events"
    status, told = await doors.ask(bearer(CLUSTER), "POST", path, {"n": 1})
    assert status == 200, told


async def until(is_so: Callable[[], bool]) -> None:
    """In the end."""
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.02)


def services_of(process: Process) -> dict[str, Any]:
    """By name."""
    return dict(process._services)


def intakes_of(process: Process) -> list[str]:
    """The tasks that append."""
    names = process.running.contexts["receiver"].tasks.names
    return sorted(name for name in names if name.startswith("intake-"))


async def test_nothing_is_kept_of_apps_that_are_undeployed() -> None:
    """Neither tasks nor plans, in the receiver and in the coordinator."""
    names = ["One", "Two", "Three"]
    async with running("coordinator", "receiver") as (doors, process):
        receiver, coordinator = (services_of(process)[one] for one in ("receiver", "coordinator"))
        acceptor, layouts = receiver._acceptor, coordinator._watchman._survey._desired.layouts
        for name in names:
            await deploy(doors, name)
            await send(doors, name)
            path = f"/v1/apps/{name}/connectors"
            assert (await doors.ask(bearer(CLUSTER), "GET", path))[0] == 200
        kept = (acceptor._readers, acceptor._taken, acceptor.sources._sources, layouts._views)
        assert [sorted(one) for one in kept] == [sorted(names)] * 4
        assert len(intakes_of(process)) == len(names)
        for name in names:
            path = f"/v1/apps/{name}?purge=true"
            status, told = await doors.ask(bearer(CLUSTER), "DELETE", path)
            assert status < 300, told
        await until(lambda: not intakes_of(process))
        await until(lambda: not layouts._views)
        left = (acceptor._readers, acceptor._taken, acceptor.sources._sources)
        assert not any(left)


async def test_of_an_app_that_is_deployed_again_and_again_one_version_is_kept() -> None:
    """The newest that somebody has sent to."""
    async with running("coordinator", "receiver") as (doors, process):
        for least in range(20):
            await deploy(doors, "One", least)
            await send(doors, "One")
        receiver = services_of(process)["receiver"]
        assert [list(known) for _, known in receiver._acceptor._readers.values()] == [["In"]]
        assert len(intakes_of(process)) == 1
