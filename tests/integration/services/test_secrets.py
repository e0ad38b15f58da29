"""Secrets of connectors, in a whole suite on real servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aiohttp import web

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
