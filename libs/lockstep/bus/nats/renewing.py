"""The client library's client, mended: a connection begins with nothing left of the last one.

The library empties its parser when it leaves a connection. Its reader may be given more bytes of
the old connection after that, before it is stopped. The first half of a message then waits in the
parser, and the next connection's first bytes are taken for its second half: whoever gets it is
given what nobody sent. (The library means to empty the parser again on the new connection, but it
asks for a state that it has left by then.) An attempt to connect that fails midway leaves its
tasks, too, which then share the next connection with those of the next attempt.
"""

from __future__ import annotations

from nats.aio.client import Client


class RenewingClient(Client):
    """A client whose connections share no byte and no task."""

    async def _process_connect_init(self) -> None:
        # Called by the library when a server has been reached, before its first byte is read.
        for task in (self._reading_task, self._ping_interval_task, self._flusher_task):
            if task is not None:
                task.cancel()
        self._ps.reset()
        await super()._process_connect_init()
