"""TLS contexts made of files, and made anew when the files change.

A process runs for months, and its certificates are good for weeks. So each new connection looks at
the files and gets what they hold by then. Connections that are open go on as they began. Files that
do not fit together (half of a pair is written) are passed over: what was good before stays.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lockstep.clock import Clock, SystemClock
from lockstep.events import Fault, LockstepError

AGAIN_MS: Final = 1_000
"""Files that could not be used are tried again as they are no sooner: what was wrong may lie
elsewhere, with a process that may open no more files, for example."""

State = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files, empty where there is none.

    `authority`: certificates of those who are trusted. `certificate`: what is shown, with its
    chain. `key`: its key; empty: in the same file. `server_name`: what the other side's
    certificate is for, if not for the name that is called. `password`: of the key.
    """

    authority: str = ""
    certificate: str = ""
    key: str = ""
    server_name: str = ""
    password: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        """Whether anything is given."""
        return self != TlsFiles()


class TlsError(LockstepError):
    """A certificate or a key that cannot be used."""

    fault = Fault.USER


def serving(
    files: TlsFiles, *, insist: bool = True, clock: Clock | None = None
) -> ssl.SSLContext | None:
    """For a server; None without a certificate: it speaks plainly. Where there is an authority,
    clients have to show a certificate of it; not `insist`: those that show none get in, and whoever
    serves them must look (`peercert`). Errors: TlsError."""

    def made() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.certificate, files.key or None, lambda: files.password)
        if files.authority:
            context.load_verify_locations(files.authority)
            context.verify_mode = ssl.CERT_REQUIRED if insist else ssl.CERT_OPTIONAL
        return context

    if not files.certificate:
        return None
    return _Renewing(ssl.PROTOCOL_TLS_SERVER, files, made, clock or SystemClock())


def calling(files: TlsFiles, *, clock: Clock | None = None) -> ssl.SSLContext | None:
    """For a client that checks the server's certificate and name; None where nothing is given:
    whoever calls goes by what the machine trusts. Errors: TlsError."""

    def made() -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=files.authority or None)
        if files.certificate:
            context.load_cert_chain(files.certificate, files.key or None, lambda: files.password)
        return context

    if not files:
        return None
    return _Renewing(ssl.PROTOCOL_TLS_CLIENT, files, made, clock or SystemClock())


class Renewal:
    """For clients that read the files by themselves, when they are made: says when to make them
    anew."""

    def __init__(self, files: TlsFiles, clock: Clock | None = None) -> None:
        self._files = files
        self._watch = _Watch(files, clock or SystemClock())

    def is_due(self) -> bool:
        """Once after each change that left files which fit together."""
        if not self._watch.is_due():
            return False
        try:
            calling(self._files)
        except TlsError as error:
            self._watch.failed(error)
            return False
        self._watch.succeeded()
        return True


class _Watch:
    """When files are to be read anew: when they have changed, and now and then after they could not
    be used."""

    def __init__(self, files: TlsFiles, clock: Clock) -> None:
        self._named = [one for one in (files.authority, files.certificate, files.key) if one]
        self._clock = clock
        self._tried = self._seen()
        self._again_ms: int | None = None
        self._told = ""

    def is_due(self) -> bool:
        """Whoever asks reads them at once, and says how that went."""
        seen = self._seen()
        if seen == self._tried:
            return self._again_ms is not None and self._clock.monotonic_ms() >= self._again_ms
        self._tried = seen
        return True

    def failed(self, error: TlsError) -> None:
        """The log says so once for each cause."""
        self._again_ms = self._clock.monotonic_ms() + AGAIN_MS
        if str(error) != self._told:
            self._told = str(error)
            logging.getLogger(__name__).warning(
                "new certificates cannot be used, the old ones stay: %s", error
            )

    def succeeded(self) -> None:
        """Looked at again when they have changed."""
        self._again_ms = None
        self._told = ""

    def _seen(self) -> tuple[State | None, ...]:
        return tuple(_state(name) for name in self._named)


class _Renewing(ssl.SSLContext):
    """Gives each connection to a context of what the files hold now."""

    def __new__(cls, protocol: int, *_: object) -> _Renewing:
        return super().__new__(cls, protocol)

    def __init__(
        self, _protocol: int, files: TlsFiles, made: Callable[[], ssl.SSLContext], clock: Clock
    ) -> None:
        self._files = files
        self._made = made
        self._watch = _Watch(files, clock)
        try:
            self._context = made()
        except (OSError, ValueError) as error:
            raise _unusable(files, error) from error

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """For asyncio."""
        name = self._named(server_hostname)
        return self._fresh().wrap_bio(incoming, outgoing, server_side, name, session)

    def wrap_socket(self, *given: Any, **named: Any) -> ssl.SSLSocket:
        """For threads."""
        if "server_hostname" in named:
            named["server_hostname"] = self._named(named["server_hostname"])
        return self._fresh().wrap_socket(*given, **named)

    def _named(self, called: str | bytes | None) -> str | bytes | None:
        return called if called is None else self._files.server_name or called

    def _fresh(self) -> ssl.SSLContext:
        if self._watch.is_due():
            try:
                self._context = self._made()
            except (OSError, ValueError) as error:
                self._watch.failed(_unusable(self._files, error))
            else:
                self._watch.succeeded()
        return self._context


def _state(name: str) -> State | None:
    """Other after a file was written, or replaced, also behind a link, or given to others."""
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size


def _unusable(files: TlsFiles, error: Exception) -> TlsError:
    named = ", ".join(filter(None, (files.authority, files.certificate, files.key)))
    text = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return TlsError(
        f"certificate or key cannot be used: {text}",
        where=named,
        hint="PEM files that this process can read, the key that of the certificate",
    )
