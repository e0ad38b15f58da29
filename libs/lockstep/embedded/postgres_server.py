"""A PostgreSQL cluster of one's own: made on the first start, one user, loopback unless
told.

PostgreSQL refuses root, so a supervisor that is root runs it as an unprivileged account.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
from pathlib import Path

from lockstep.clock import Clock, Randomness
from lockstep.embedded.credentials import secret, write_private
from lockstep.embedded.errors import ServerStartError
from lockstep.embedded.probe import postgres_answers
from lockstep.embedded.process import (
    THIS_MACHINE,
    Account,
    ChildProcess,
    Command,
    Machine,
    runs_for,
)
from lockstep.embedded.programs import postgres_programs
from lockstep.embedded.server import USER, Server

_INITDB_TIMEOUT_MS = 120_000
_ACCOUNTS = ("postgres", "nobody")


class PostgresServer(Server):
    """PostgreSQL for desired state, revisions and sink tables.

    With `durable` off a power cut may cost data (a kill never does), and tests run faster.
    """

    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": closes connections; SIGTERM would wait for clients

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock,
        randomness: Randomness,
        port: int | None = None,
        machine: Machine = THIS_MACHINE,
        durable: bool = True,
    ) -> None:
        super().__init__(directory, clock=clock, randomness=randomness, port=port, machine=machine)
        self._durable = durable
        self._data = self.directory / "data"
        self._programs: Path | None = None

    @property
    def url(self) -> str:
        """The DSN for the store settings and for sink tables."""
        return self._url("postgresql", USER, "/postgres")

    async def _prepare(self) -> None:
        self._programs = postgres_programs(self._written_by())
        if self._written_by() is None:
            await self._make_cluster(self._programs)
        self._forget_stranger()

    def _forget_stranger(self) -> None:
        """PostgreSQL does not start while its lock file names a living process. After a kill that
        number may be anybody's: then the file goes. Our own predecessor has ended by now."""
        lock_file = self._data / "postmaster.pid"
        if not lock_file.exists():
            return
        first = lock_file.read_text().partition("\n")[0].strip()
        lives = first.isdecimal() and Path(f"/proc/{first}").exists()
        if lives and not runs_for(int(first), self._data):
            lock_file.unlink()

    def _written_by(self) -> int | None:
        """Major version that the data is for; None when there is none yet."""
        marker = self._data / "PG_VERSION"
        return int(marker.read_text()) if marker.exists() else None

    async def _make_cluster(self, programs: Path) -> None:
        password = secret(self.directory / "password", self._randomness)
        handed_over = self.directory / "data.password"
        write_private(handed_over, password + "\n")
        # Made aside: what an initdb left that was killed midway looks like a cluster and is none.
        aside = self.directory / "data.new"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(mode=0o700)
        account = self._account(aside)
        if account is not None:
            for path in (handed_over, aside):
                os.chown(path, account.uid, account.gid)
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={handed_over}"]
        options += ["--encoding=UTF8", "--locale=C", "--no-instructions", "--no-sync"]
        initdb = ChildProcess(
            self._as_account([str(programs / "initdb"), "-D", str(aside), *options], aside),
            self._clock,
        )
        try:
            status = await initdb.wait(_INITDB_TIMEOUT_MS)
        finally:
            initdb.kill()  # nothing when it has ended
            handed_over.unlink()
        if status != 0:
            raise ServerStartError(f"initdb ended with {status}: {initdb.last_words()}")
        if self.machine != THIS_MACHINE:  # initdb lets in the loopback alone
            with (aside / "pg_hba.conf").open("a") as rules:
                rules.write("host all all all scram-sha-256\n")
        aside.replace(self._data)

    def _command(self) -> Command:
        assert self._programs is not None
        settings = {
            "listen_addresses": self.machine.host,
            "port": str(self.port),
            "unix_socket_directories": "",
            "shared_buffers": "32MB",
            "max_connections": "200",
            "max_replication_slots": "64",
            "wal_level": "logical",  # tables in it can be followed
            "fsync": "on" if self._durable else "off",
            "full_page_writes": "on" if self._durable else "off",
        }
        options = [each for name, value in settings.items() for each in ("-c", f"{name}={value}")]
        arguments = [str(self._programs / "postgres"), "-D", str(self._data), *options]
        return self._as_account(arguments, self._data)

    def _as_account(self, arguments: list[str], data: Path) -> Command:
        return Command(
            arguments,
            self.directory / "log",
            death_signal=signal.SIGINT,
            account=self._account(data),
            reach=(Path(arguments[0]), data),
            through=self.machine.through,
        )

    def _account(self, data: Path) -> Account | None:
        """Whom to become, as root: who owns the data, or else the first account that exists."""
        if os.geteuid() != 0:
            return None
        owner = data.stat()
        if owner.st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        for name in _ACCOUNTS:
            if name in known:
                return Account(known[name].pw_uid, known[name].pw_gid)
        raise ServerStartError(
            f"PostgreSQL refuses root and there is no account {' or '.join(_ACCOUNTS)}",
            hint="run as an ordinary user, or give the address of a running server",
        )

    async def _answers(self) -> bool:
        return await postgres_answers(self.machine.host, self.port, USER)
