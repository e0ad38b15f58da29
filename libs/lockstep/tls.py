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
from typing import Any

from lockstep.events import Fault, LockstepError

Seen = tuple[tuple[int, int, int] | None, ...]


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


def serving(files: TlsFiles, *, insist: bool = True) -> ssl.SSLContext | None:
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

    return _Renewing(ssl.PROTOCOL_TLS_SERVER, files, made) if files.certificate else None


def calling(files: TlsFiles) -> ssl.SSLContext | None:
    """For a client that checks the server's certificate and name; None where nothing is given:
    whoever calls goes by what the machine trusts. Errors: TlsError."""

    def made() -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=files.authority or None)
        if files.certificate:
            context.load_cert_chain(files.certificate, files.key or None, lambda: files.password)
        return context

    return _Renewing(ssl.PROTOCOL_TLS_CLIENT, files, made) if files else None


class Renewal:
    """For clients that read the files by themselves, when they are made: says when to make them
    anew."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._tried = _seen(files)

    def is_due(self) -> bool:
        """Once after each change that left files which fit together."""
        seen = _seen(self._files)
        if seen == self._tried:
            return False
        self._tried = seen
        try:
            calling(self._files)
        except TlsError as error:
            _passed_over(error)
            return False
        return True


class _Renewing(ssl.SSLContext):
    """Gives each connection to a context of what the files hold now."""

    def __new__(cls, protocol: int, *_: object) -> _Renewing:
        return super().__new__(cls, protocol)

    def __init__(self, _protocol: int, files: TlsFiles, made: Callable[[], ssl.SSLContext]) -> None:
        self._files = files
        self._made = made
        self._tried = _seen(files)
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
        seen = _seen(self._files)
        if seen != self._tried:
            self._tried = seen
            try:
                self._context = self._made()
            except (OSError, ValueError) as error:
                _passed_over(_unusable(self._files, error))
        return self._context


def _passed_over(error: TlsError) -> None:
    """The next change, which makes the files complete, is looked at again."""
    logging.getLogger(__name__).warning(
        "new certificates cannot be used, the old ones stay: %s", error
    )


def _seen(files: TlsFiles) -> Seen:
    named = (files.authority, files.certificate, files.key)
    return tuple(_state(name) for name in named if name)


def _state(name: str) -> tuple[int, int, int] | None:
    """Other after a file was written, or replaced, also behind a link."""
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _unusable(files: TlsFiles, error: Exception) -> TlsError:
    named = ", ".join(filter(None, (files.authority, files.certificate, files.key)))
    text = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return TlsError(
        f"certificate or key cannot be used: {text}",
        where=named,
        hint="PEM files that this process can read, the key that of the certificate",
    )
