"""A NATS server with JetStream on disk, one user, loopback unless told."""

from __future__ import annotations

import signal
from pathlib import Path

from lockstep.clock import Clock, Randomness
from lockstep.embedded.credentials import write_private
from lockstep.embedded.probe import nats_answers
from lockstep.embedded.process import THIS_MACHINE, Command, Machine
from lockstep.embedded.programs import nats_server
from lockstep.embedded.server import USER, Server

_CONFIGURATION = """\
listen: "{host}:{port}"
server_name: "lockstep-embedded"
max_payload: {max_payload_bytes}
jetstream {{
  store_dir: "{data}"
  sync_interval: "{sync_interval}"
}}
{who}
"""
_ALONE = """\
authorization {{
  user: "{user}"
  password: "{password}"
}}"""

MAX_PAYLOAD_BYTES = 8_388_608
ACCOUNTS_FILE = "accounts.conf"
"""In the server's folder, as `lockstep nats-users` writes it: clients beside the suite itself."""
SUITE_ACCOUNT = "lockstep"
"""The suite's own among these."""
_NO_ACCOUNT = "$G"


class NatsServer(Server):
    """`sync_interval` is how often JetStream forces files to disk: "always", or as in "2m".

    Acknowledged messages survive `kill` with either; "always" makes them survive a power cut too.
    """

    name = "nats"

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock,
        randomness: Randomness,
        port: int | None = None,
        machine: Machine = THIS_MACHINE,
        sync_interval: str = "always",
    ) -> None:
        super().__init__(directory, clock=clock, randomness=randomness, port=port, machine=machine)
        self._sync_interval = sync_interval

    @property
    def url(self) -> str:
        """For the bus settings."""
        return self._url("nats", USER)

    def reload(self) -> None:
        """Lets it read its configuration again: open connections go on, if they still may."""
        if self._process is not None:
            self._process.send(signal.SIGHUP)

    async def _prepare(self) -> None:
        if (self.directory / ACCOUNTS_FILE).exists():
            who = f'include "{ACCOUNTS_FILE}"'
            self._move_data(_NO_ACCOUNT, SUITE_ACCOUNT)
        else:
            who = _ALONE.format(user=USER, password=self.password)
            self._move_data(SUITE_ACCOUNT, _NO_ACCOUNT)
        text = _CONFIGURATION.format(
            host=self.machine.host,
            port=self.port,
            max_payload_bytes=MAX_PAYLOAD_BYTES,
            data=self.directory / "data",
            sync_interval=self._sync_interval,
            who=who,
        )
        write_private(self.directory / "nats.conf", text)

    def _move_data(self, was: str, now: str) -> None:
        """Into the folder of the suite's account, where the server looks for it."""
        kept = self.directory / "data" / "jetstream"
        if (kept / was).exists() and not (kept / now).exists():
            (kept / was).rename(kept / now)

    def _command(self) -> Command:
        arguments = [str(nats_server()), "-c", str(self.directory / "nats.conf")]
        return Command(arguments, self.directory / "log", through=self.machine.through)

    async def _answers(self) -> bool:
        return await nats_answers(self.machine.host, self.port, USER, self.password)
