"""Which subjects a stream of the server keeps and acknowledges: asked once, remembered for a while.

Nobody tells when a stream is made, so a "no" is asked again after some seconds; a "yes" holds until
an acknowledgement fails to come.
"""

from __future__ import annotations

import asyncio
from typing import Final

from lockstep.bus.nats.jetstream import JetStream, persistently

ASK_AGAIN_S: Final = 5.0
MAX_SUBJECTS: Final = 4_096


class Keepers:
    """What is known of the streams behind subjects."""

    def __init__(self, jetstream: JetStream) -> None:
        self._jetstream = jetstream
        self._known: dict[str, tuple[str | None, float]] = {}
        self._asking = asyncio.Lock()

    async def stream_of(self, subject: str) -> str | None:
        """The stream that keeps a subject and acknowledges, or None; UnavailableError."""
        found = self._remembered(subject)
        if found is None:
            async with self._asking:  # many messages ask at once; one question is enough
                found = self._remembered(subject) or (await self._ask(subject),)
        return found[0]

    def forget(self, subject: str) -> None:
        """It may have changed."""
        self._known.pop(subject, None)

    def _remembered(self, subject: str) -> tuple[str | None] | None:
        name, asked_s = self._known.get(subject, (None, float("-inf")))
        if name is None and asyncio.get_running_loop().time() - asked_s > ASK_AGAIN_S:
            return None
        return (name,)

    async def _ask(self, subject: str) -> str | None:
        answer = await persistently(
            lambda: self._jetstream.call("STREAM.LIST", {"subject": subject}),
            self._jetstream.limits,
        )
        name = None
        for stream in answer.get("streams") or ():
            if not stream["config"].get("no_ack", False):
                name = str(stream["config"]["name"])
                break
        if len(self._known) >= MAX_SUBJECTS:
            self._known.clear()
        self._known[subject] = (name, asyncio.get_running_loop().time())
        return name
