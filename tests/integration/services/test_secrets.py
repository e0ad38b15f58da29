"""Secrets of connectors, in a whole suite on real servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aiohttp import web
from structlog.testing import capture_logs

from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook

NODES = ("coordinator", "processor-1", "receiver", "publisher")
FIRST, SECOND = "s3cr3t-one", "s3cr3t-two"
APP = """
@app:name('Discreet')
@source(type='file', dir.uri='file:${secret:inbox}', @map(type='csv'))
define stream In (a int);
@sink(type='http', publisher.url='${secret:hook}',
      headers="'Authorization: Bearer ${secret:token}'", @map(type='json'))
define stream Out (a int);
from In select a insert into Out;
"""


async def test_secrets_come_change_and_are_never_told(cluster_of: Start, tmp_path: Path) -> None:
    """Sinks and sources wait for a secret, and go on with another one when its file changes. What
    a server repeats of it stands in no error."""
    seen: list[tuple[str, int]] = []

    async def receive(request: web.Request) -> web.Response:
        token = request.headers["Authorization"]
        value = (await request.json())["event"]["a"]
        seen.append((token.removeprefix("Bearer "), value))
        return web.Response(status=422 if value == 13 else 200, text=f"I know your {token}")

    def values() -> list[int]:
        return [value for _, value in seen]

    folder, inbox = tmp_path / "secrets", tmp_path / "inbox"
    folder.mkdir()
    inbox.mkdir()
    settings = {"LOCKSTEP_SECRETS__FOLDER": str(folder)}
    async with webhook(receive) as url, cluster_of(*NODES, **settings) as cluster:
        app = await cluster.deploy(APP)
        await cluster.send(app, "In", [[1]])

        async def published() -> Any:
            return await cluster.published(app)

        await until(published, "the first row")
        assert not seen
        own = folder / app
        own.mkdir()
        (own / "token").write_text(FIRST + "\n")
        (folder / "token").write_text("of all apps")
        (folder / "hook").write_text(url)
        (folder / "inbox").write_text(str(inbox))

        async def arrived() -> bool:
            return values() == [1]

        await until(arrived, "the row that waited for its secret")
        (inbox / "a.csv").write_text("2\n13\n")

        async def read() -> bool:
            return values() == [1, 2, 13]

        await until(read, "the file's rows")
        (letter,) = await until(
            lambda: cluster.watcher.bus.dead_letters.read(app), "the dead letter"
        )
        assert "I know your Bearer ***" in letter.letter.reason
        assert FIRST not in letter.letter.reason
        (own / "token").write_text(SECOND)
        for number in range(100, 1_000):
            await cluster.send(app, "In", [[number]])
            if seen[-1][0] == SECOND:
                break
            await asyncio.sleep(0.05)
        assert {token for token, value in seen if value < 100} == {FIRST}
        assert seen[-1][0] == SECOND

        async def all_there() -> bool:
            return set(values()) == {1, 2, 13, *range(100, number + 1)}

        await until(all_there, "every row")
        _, answer = await cluster.asked("GET", f"/v1/apps/{app}")
        text = str(answer)
        assert "${secret:token}" in text


CALLING = """
@app:name('Rotated')
define stream In (a int);
@sink(type='http', publisher.url='{url}', headers="'Authorization: Bearer ${{secret:token}}'",
      @map(type='json'))
define stream Out (a int);
from In select a insert into Out;
"""


async def test_no_row_is_lost_while_a_secret_is_changed_in_two_places(
    cluster_of: Start, tmp_path: Path
) -> None:
    """First at the server, then first in the folder. Until both agree the status and the log tell
    which sink waits, and for what."""
    good = FIRST
    seen: list[int] = []

    async def receive(request: web.Request) -> web.Response:
        if request.headers["Authorization"] != f"Bearer {good}":
            return web.Response(status=401, text="who are you?")
        seen.append((await request.json())["event"]["a"])
        return web.Response()

    token = tmp_path / "token"
    token.write_text(FIRST)
    settings = {
        "LOCKSTEP_SECRETS__FOLDER": str(tmp_path),
        "LOCKSTEP_PUBLISHER__RETRY_MAX_ATTEMPTS": "1000000",
    }
    async with webhook(receive) as url, cluster_of(*NODES, **settings) as cluster:
        app = await cluster.deploy(CALLING.format(url=url))

        async def troubled() -> Any:
            _, found = await cluster.asked("GET", f"/v1/apps/{app}/status")
            return [one for one in found["sinks"] if one["trouble"]]

        async def sent(value: int) -> None:
            await cluster.send(app, "In", [[value]])

        async def arrived() -> bool:
            return seen == list(range(1, len(seen) + 1)) and seen[-1:] == [last]

        last = 1
        await sent(1)
        await until(arrived, "the first row")
        with capture_logs() as said:
            good = SECOND
            await sent(2)
            (sink,) = await until(troubled, "trouble of the sink")
        assert sink["sink"] == "Out.0.http"
        assert "answered 401: who are you?" in sink["trouble"]
        assert "look at its secrets" in sink["trouble"]
        away = next(one for one in said if one["event"] == "sink away")
        assert (away["sink"], away["error"]) == (sink["sink"], sink["trouble"])
        last = 2
        token.write_text(SECOND)
        await until(arrived, "the row from between")

        async def untroubled() -> bool:
            return not await troubled()

        await until(untroubled, "no trouble any more")
        token.write_text(FIRST)
        while not await troubled():  # until the publisher has it
            last += 1
            await sent(last)
            await asyncio.sleep(0.1)
        good = FIRST
        await until(arrived, "the rows from between", seen=lambda: (last, seen))
        assert not await cluster.watcher.bus.dead_letters.read(app)
