"""The client library's client, mended: a connection begins with nothing left of the last one.

The library empties its parser when it leaves a connection. Its reader may be given more bytes of
the old connection after that, before it is stopped. The first half of a message then waits in the
parser, and the next connection's first bytes are taken for its second half: whoever gets it is
given what nobody sent. (The library means to empty the parser again on the new connection, but it
asks for a state that it has left by then.) An attempt to connect that fails midway leaves its
tasks, too, which then share the next connection with those of the next attempt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import nats.errors
from nats.aio.client import Client

from lockstep.bus.nats.errors import CredentialsError

_PARTS: Final = (b"BEGIN NATS USER JWT", b"BEGIN USER NKEY SEED")


class RenewingClient(Client):
    """A client whose connections share no byte and no task, and that tries again after any error.

    A file of credentials is read anew for each connection, perhaps while somebody writes it. Errors
    that the library does not expect there end its attempts for good, and in a file with a key and
    no token it looks for the token for ever.
    """

    async def _process_connect_init(self) -> None:
        # Called by the library when a server has been reached, before its first byte is read.
        for task in (self._reading_task, self._ping_interval_task, self._flusher_task):
            if task is not None:
                task.cancel()
        self._ps.reset()
        try:
            await super()._process_connect_init()
        except (nats.errors.Error, OSError):
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            if self._user_credentials is not None:
                raise CredentialsError(str(self._user_credentials), text) from error
            raise nats.errors.Error(f"no connection can be begun: {text}") from error

    def _connect_command(self) -> bytes:
        # A server that does not ask for them is entered without.
        if self._user_credentials is not None and "nonce" in self._server_info:
            file = str(self._user_credentials)
            try:
                content = Path(file).read_bytes()
            except OSError as error:
                raise CredentialsError(file, error.strerror or str(error)) from error
            if any(part not in content for part in _PARTS):
                raise CredentialsError(file, "a token or a key is missing there")
        return super()._connect_command()
