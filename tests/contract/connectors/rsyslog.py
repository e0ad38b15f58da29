"""rsyslog as a process of its own: it takes messages into a file, or forwards lines of a file."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.tls import TlsFiles
from tests.contract.connectors.brokers import Broker, free_port
from tests.needed import lacking

HOST = "127.0.0.1"
FIELDS = (
    "pri", "timestamp:::date-rfc3339", "hostname", "app-name", "procid", "msgid",
    "structured-data", "msg",
)  # fmt: skip
MESSAGE_MAX = "64k"


def program() -> Path | None:
    """As `scripts/rsyslog` has unpacked it, or on PATH."""
    unpacked = Path(sys.prefix) / "rsyslog/usr/sbin/rsyslogd"
    if unpacked.is_file():
        return unpacked
    installed = shutil.which("rsyslogd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(installed) if installed else None


@dataclass(frozen=True, slots=True)
class Taken:
    """A message as rsyslog has read it; `-` is nothing."""

    pri: int
    timestamp: str
    host: str
    app: str
    procid: str
    msgid: str
    structured: str
    text: str


class Rsyslog(Broker):
    """Of a configuration; `ports`: those of TCP where it listens."""

    def __init__(self, directory: Path, lines: Sequence[str], ports: list[int]) -> None:
        found = program()
        if found is None:
            lacking("no rsyslogd: scripts/rsyslog .venv/rsyslog")
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        first = f'global(workDirectory="{directory}" maxMessageSize="{MESSAGE_MAX}")'
        (directory / "rsyslog.conf").write_text("\n".join([first, *lines]) + "\n")
        libraries = found.parents[1] / "lib/x86_64-linux-gnu"
        command = [
            str(found), "-n", "-i", str(directory / "pid"), "-f", str(directory / "rsyslog.conf"),
            "-M", str(libraries / "rsyslog"),
        ]  # fmt: skip
        super().__init__(command, {"LD_LIBRARY_PATH": str(libraries)}, ports)

    async def stop(self) -> None:
        """Its connections break; it writes down how far it has come. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGTERM)
            await process.wait()


def _secured(tls: TlsFiles | None) -> tuple[list[str], str]:
    """Lines about certificates, and what a module of TCP is told."""
    if tls is None:
        return [], ""
    files = (
        f'defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="{tls.authority}"'
        f' defaultNetstreamDriverCertFile="{tls.certificate}"'
        f' defaultNetstreamDriverKeyFile="{tls.key}"'
    )
    told = ' StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/certvalid"'
    return [f"global({files})"], told


class RsyslogServer(Rsyslog):
    """Takes messages at `port`, over TCP and UDP."""

    def __init__(self, directory: Path, tls: TlsFiles | None = None) -> None:
        self.port = free_port()
        self._got = directory / "got"
        files, told = _secured(tls)
        fields = "\\t".join(f"%{name}%" for name in FIELDS)
        lines = [
            *files, f'module(load="imtcp"{told})', 'module(load="imudp")',
            f'input(type="imtcp" address="{HOST}" port="{self.port}")',
            f'input(type="imudp" address="{HOST}" port="{self.port}")',
            f'template(name="all" type="string" string="{fields}\\n")',
            f'action(type="omfile" file="{self._got}" template="all")',
        ]  # fmt: skip
        super().__init__(directory, lines, [self.port])

    def taken(self) -> list[Taken]:
        """All that it has, of whatever sender."""
        lines = self._got.read_text().splitlines() if self._got.exists() else []
        found = []
        for line in lines:
            pri, *texts = line.split("\t", len(FIELDS) - 1)
            found.append(Taken(int(pri), *texts))
        return [one for one in found if one.app != "rsyslogd"]

    async def received(self) -> Sequence[bytes]:
        """The texts."""
        return [one.text.strip().encode() for one in self.taken()]


class RsyslogSender(Rsyslog):
    """Forwards each line that is sent, over TCP, to `port`; what it cannot send it keeps."""

    def __init__(
        self,
        directory: Path,
        port: int,
        framing: str = "octet-counted",
        tls: TlsFiles | None = None,
    ) -> None:
        self._lines = directory / "lines"
        files, _ = _secured(tls)
        driver = (
            ' StreamDriver="gtls" StreamDriverMode="1" StreamDriverAuthMode="x509/certvalid"'
            if tls is not None
            else ""
        )
        lines = [
            *files, 'module(load="imfile")',
            f'input(type="imfile" file="{self._lines}" tag="kit" facility="local2"'
            ' severity="notice" reopenOnTruncate="on")',
            f'action(type="omfwd" target="{HOST}" port="{port}" protocol="tcp"'
            f' TCP_Framing="{framing}" template="RSYSLOG_SyslogProtocol23Format"'
            f' action.resumeRetryCount="-1" action.resumeInterval="1"{driver})',
        ]  # fmt: skip
        super().__init__(directory, lines, [])

    async def start(self) -> None:
        self._lines.touch()
        await super().start()

    async def send(self, payload: bytes) -> None:
        """Behind the last line."""
        with self._lines.open("ab") as file:
            file.write(payload + b"\n")
