"""A real MariaDB for tests: Debian's, unpacked by `scripts/mariadb`, or one on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import aiomysql
import pymysql

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import Server
from lockstep.embedded.process import Command
from lockstep.embedded.server import USER
from tests.needed import lacking

UNPACKED = Path(sys.prefix) / "mariadb"
TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")


def program() -> Path | None:
    """Where the server is, if it is anywhere."""
    found = UNPACKED / "usr/sbin/mariadbd"
    if found.is_file():
        return found
    installed = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(installed) if installed else None


class MariadbServer(Server):
    """Its data survives a kill."""

    name = "mariadb"

    def __init__(self, directory: Path, more: Sequence[str] = (), zone: str = "UTC") -> None:
        super().__init__(directory, clock=SystemClock(), randomness=SystemRandomness())
        found = program()
        assert found is not None
        self._program = found
        self._more = more
        self._zone = zone
        self._usr = found.parents[1]

    @property
    def url(self) -> str:
        return self._url("mysql", USER, "/test")

    @property
    def _arguments(self) -> list[str]:
        return [
            # The libraries that come with it stand beside it.
            "/usr/bin/env", f"LD_LIBRARY_PATH={self._usr}/lib/x86_64-linux-gnu",
            f"TZ={self._zone}", str(self._program),
            "--no-defaults", f"--basedir={self._usr}", f"--datadir={self.directory / 'data'}",
            f"--lc-messages-dir={self._usr}/share/mysql", "--innodb-buffer-pool-size=32M",
            "--user=root" if os.geteuid() == 0 else "--user=",
            # A server that starts removes all temporary tables of this folder, others' as well.
            f"--tmpdir={self.directory}",
        ]  # fmt: skip

    async def _prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        data.mkdir()
        share = self._usr / "share" / "mysql"
        made = "".join((share / name).read_text() for name in TABLES)
        account = (
            f"FLUSH PRIVILEGES;\nCREATE DATABASE test;\n"
            f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO '{USER}'@'%';\n"
        )
        subprocess.run(
            [*self._arguments, "--bootstrap"],
            input=f"CREATE DATABASE mysql;\nUSE mysql;\n{made}\n{account}",
            text=True,
            check=True,
            capture_output=True,
        )

    def _command(self) -> Command:
        listening = [f"--port={self.port}", f"--bind-address={self.machine.host}"]
        socket = f"--socket={self.directory}/s"
        arguments = [*self._arguments, *listening, socket, *self._more]
        return Command(arguments, self.directory / "log")

    async def _answers(self) -> bool:
        try:
            connection = await aiomysql.connect(
                host=self.machine.host, port=self.port, user=USER, password=self.password
            )
        except (pymysql.MySQLError, OSError):
            return False
        connection.close()
        return True


LOGGED = ("--log-bin=log", "--binlog-format=ROW", "--binlog-row-metadata=FULL", "--server-id=1")
"""With these it keeps a binary log that tells all."""


async def start_mariadb(directory: Path, *more: str, zone: str = "UTC") -> MariadbServer:
    """One that runs, with `more` arguments, on a machine in `zone`; or the test is passed over."""
    if program() is None:
        lacking("no MariaDB: scripts/mariadb fetches Debian's")
    server = MariadbServer(directory, more, zone)
    await server.start()
    return server
