"""A real mail server for tests: GreenMail, brought by `scripts/greenmail`. Mails die with it."""

from __future__ import annotations

import imaplib
import sys
from pathlib import Path

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import Server, free_port, java_home
from lockstep.embedded.process import Command
from lockstep.embedded.server import HOST
from tests.needed import lacking

LOCK = Path(__file__).with_name("jar.lock")
JAR = Path(sys.prefix) / "greenmail" / LOCK.read_text().split("/")[-1].strip()
USER = "app"
PASSWORD = "secret-of-the-mails"


class MailServer(Server):
    """IMAP at `port`; at `secure_port` over TLS, with a certificate that nobody vouches for."""

    name = "greenmail"

    def __init__(self, directory: Path) -> None:
        if not JAR.is_file():
            lacking("no mail server: scripts/greenmail fetches it from Maven Central")
        super().__init__(directory, clock=SystemClock(), randomness=SystemRandomness())
        self.secure_port = free_port()

    @property
    def url(self) -> str:
        return f"imap://{HOST}:{self.port}"

    async def _prepare(self) -> None:
        """It has no settings but those of its command."""

    def _command(self) -> Command:
        java = [str(java_home() / "bin" / "java"), "-Xmx64m", "-XX:TieredStopAtLevel=1"]
        doors = [
            f"-Dgreenmail.{name}.{what}"
            for name, port in (("imap", self.port), ("imaps", self.secure_port))
            for what in (f"hostname={HOST}", f"port={port}")
        ]
        users = f"-Dgreenmail.users={USER}:{PASSWORD}@example.org"
        return Command([*java, *doors, users, "-jar", str(JAR)], self.directory / "log")

    async def _answers(self) -> bool:
        try:
            self.client().logout()
        except (imaplib.IMAP4.error, OSError):
            return False
        return True

    def client(self) -> imaplib.IMAP4:
        """Another one than ours, logged in."""
        found = imaplib.IMAP4(HOST, self.port)
        found.login(USER, PASSWORD)
        return found

    def put(self, folder: str, *mails: bytes) -> None:
        """Somebody else does, into a folder that is made if there is none."""
        there = self.client()
        there.create(folder)
        for each in mails:
            there.append(folder, "", "", each)
        there.logout()

    def flags(self, folder: str) -> list[str]:
        """Of the mails of a folder, in order."""
        there = self.client()
        there.select(folder, readonly=True)
        _, found = there.uid("FETCH", "1:*", "(FLAGS)")
        there.logout()
        return [each.decode() for each in found if each is not None]

    def validity(self, folder: str) -> str:
        """Of the UIDs of a folder."""
        there = self.client()
        _, found = there.status(folder, "(UIDVALIDITY)")
        there.logout()
        return str(found[0])
