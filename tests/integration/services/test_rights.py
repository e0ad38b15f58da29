"""Every route of every service by every kind of caller, with all services in this process.

`make e2e SCENARIO=rights` plays the same on processes.
"""

from __future__ import annotations

from pathlib import Path

import aiohttp

from lockstep.rights import ROUTES, Role
from tests.e2e.rights import CLUSTER, PLAN, Place, judged
from tests.unit.services.suite import running


async def test_every_route_answers_every_role_as_written_and_a_revoked_one_is_out(
    tmp_path: Path,
) -> None:
    """401 for strangers, 403 for who may not, anything else for who may; in the end 401 for all."""
    log = tmp_path / "log"
    log.touch()
    async with (
        running(LOCKSTEP_SERVER__TOKEN=CLUSTER) as (doors, _),
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        places = [Place(service, service, doors.url, log) for service, _ in PLAN]
        tally = await judged(places, session)
    assert tally.wrong == []
    assert {(method, path) for _, method, path in tally.routes} == set(ROUTES)
    assert tally.callers == 2 + 5 * len(Role)
    assert tally.out == 5 * len(Role)
