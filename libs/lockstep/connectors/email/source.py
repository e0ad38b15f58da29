"""@source(type='email'): mails of an IMAP folder, marked when they are in the app's log.

A mail that does not bear the mark yet is new. Its identity is made of the mailbox, its UIDVALIDITY
and the mail's UID: it stays as long as the mail does. So who dies between the log and the mark
brings it in once. The library blocks, so it works in threads, one call at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import imaplib
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from lockstep.connectors.email.mails import quoted, read_mail, search_of
from lockstep.connectors.tls import context_of
from lockstep.sources import Place, Received, Source

TIMEOUT_S: Final = 20.0
MAX_MAIL_BYTES: Final = 32 * 1024 * 1024
"""A larger one is not fetched: it comes as a text that says so."""
MAX_BATCH_BYTES: Final = 32 * 1024 * 1024
"""Of the mails that are fetched at a time, but for one."""
DEFAULT_INTERVAL_S: Final = 600
MARKS: Final = {
    "SEEN": ("UNSEEN", r"(\Seen)"),
    "FLAGGED": ("UNFLAGGED", r"(\Flagged)"),
    "ANSWERED": ("UNANSWERED", r"(\Answered)"),
    "DELETE": ("UNDELETED", r"(\Deleted)"),
    "MOVE": ("UNDELETED", r"(\Deleted)"),
}
"""Of each action: which mails are new, and the mark."""
T = TypeVar("T")


class EmailSource(Source):
    """Options: `username`, `password`, `host` (imap.gmail.com), `port` (993), `folder` (INBOX) …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._options = options
        self._host = options.get("host", "imap.gmail.com")
        self._port = int(options.get("port", 993))
        self._ssl = options.get("ssl.enable", "true").lower() == "true"
        self._folder = options.get("folder", "INBOX")
        self._action = options.get("action.after.processed", "SEEN").upper()
        self._search = search_of(options.get("search.term", ""))
        self._type = options.get("content.type", "text/plain").partition(";")[0].strip().lower()
        self._interval_ms = 1_000 * int(options.get("polling.interval", DEFAULT_INTERVAL_S))
        mailbox = f"{self._host}/{options['username']}/{self._folder}".encode()
        self._mailbox = hashlib.sha256(mailbox).hexdigest()[:12]
        self._clock = place.clock
        self._next_ms = 0
        self._lock = threading.Lock()
        self._server: imaplib.IMAP4 | None = None
        self._validity = ""
        self._under_way: set[tuple[str, int]] = set()
        self._done: set[tuple[str, int]] = set()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if self._done:
            await asyncio.to_thread(self._alone, self._mark)
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_ms:
            await self._clock.sleep_ms(min(wait_ms, self._next_ms - now_ms))
            return ()
        found, are_all = await asyncio.to_thread(self._alone, lambda: self._poll(max_messages))
        if are_all:
            self._next_ms = now_ms + self._interval_ms
        return found

    async def close(self) -> Sequence[Received]:
        """What could not be marked comes again, under the same identity."""

        def end() -> None:
            if self._done and self._server is not None:
                self._mark()
            self._drop()

        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._alone, end)
        return ()

    def _alone(self, work: Callable[[], T]) -> T:
        """A read that was given up may still be under way in its thread."""
        with self._lock:
            try:
                return work()
            except (imaplib.IMAP4.error, OSError) as error:
                self._drop()
                raise OSError(f"the mail server at {self._host}:{self._port}: {error}") from error

    def _poll(self, max_messages: int) -> tuple[list[Received], bool]:
        """New mails in order, and whether there are no more now."""
        server = self._connected()
        new, _ = MARKS[self._action]
        (numbers,) = _took(server.uid("SEARCH", new, *self._search))
        known = {uid for validity, uid in self._under_way if validity == self._validity}
        uids = sorted({int(number) for number in (numbers or b"").split()} - known)
        found: list[Received] = []
        size_bytes = 0
        for uid in uids[:max_messages]:
            raw = self._fetched(server, uid)
            size_bytes += len(raw or b"")
            if raw is not None:
                found.append(self._received(uid, raw))
            if size_bytes >= MAX_BATCH_BYTES:
                break
        return found, len(found) >= len(uids)

    def _fetched(self, server: imaplib.IMAP4, uid: int) -> bytes | None:
        """A mail; None when it is gone. It is not marked by being read."""
        sizes = _took(server.uid("FETCH", str(uid), "(RFC822.SIZE)"))
        text = b" ".join(each for each in sizes if isinstance(each, bytes)).upper()
        size = text.partition(b"RFC822.SIZE ")[2].split(b" ")[0].rstrip(b")")
        if size.isdigit() and int(size) > MAX_MAIL_BYTES:
            kind = self._type.encode()
            says = b"(a mail of %s bytes, of at most %d)" % (size, MAX_MAIL_BYTES)
            return b"Content-Type: %s\r\n\r\n%s" % (kind, says)
        parts = _took(server.uid("FETCH", str(uid), "(BODY.PEEK[])"))
        return next((bytes(each[1]) for each in parts if isinstance(each, tuple)), None)

    def _received(self, uid: int, raw: bytes) -> Received:
        key = self._validity, uid
        self._under_way.add(key)

        async def acknowledge() -> None:
            self._done.add(key)

        payload, headers = read_mail(raw, self._type)
        return Received(payload, headers, f"{self._mailbox}.{key[0]}.{uid}", acknowledge)

    def _mark(self) -> None:
        """What is in the log bears the mark, is moved or removed, in one step for all."""
        server = self._connected()
        done = set(self._done)
        uids = ",".join(str(uid) for validity, uid in sorted(done) if validity == self._validity)
        if uids:
            self._put_away(server, uids)
        self._done -= done
        self._under_way -= done

    def _put_away(self, server: imaplib.IMAP4, uids: str) -> None:
        if self._action == "MOVE":
            folder = quoted(self._options["folder.to.move"])
            moves = "MOVE" in server.capabilities
            answer = server.uid("MOVE" if moves else "COPY", uids, folder)
            if answer[0] == "NO":  # there is no such folder yet
                server.create(folder)
                answer = server.uid("MOVE" if moves else "COPY", uids, folder)
            _took(answer)
            if moves:
                return
        _took(server.uid("STORE", uids, "+FLAGS.SILENT", MARKS[self._action][1]))
        if self._action in ("DELETE", "MOVE"):
            whole = "UIDPLUS" not in server.capabilities
            _took(server.expunge() if whole else server.uid("EXPUNGE", uids))

    def _connected(self) -> imaplib.IMAP4:
        """With the folder open, as it is now."""
        if self._server is not None:
            try:
                _took(self._server.noop())
                return self._server
            except (imaplib.IMAP4.error, OSError):
                self._drop()  # servers end connections on which nothing is said
        server = self._server = self._opened()
        server.login(self._options["username"], self._options["password"])
        _took(server.select(quoted(self._folder)))
        _, (validity, *_) = server.response("UIDVALIDITY")
        self._validity = (validity or b"").decode(errors="replace")
        return server

    def _opened(self) -> imaplib.IMAP4:
        if not self._ssl:
            return imaplib.IMAP4(self._host, self._port, timeout=TIMEOUT_S)
        context = context_of(self._options) or ssl.create_default_context()
        return imaplib.IMAP4_SSL(self._host, self._port, ssl_context=context, timeout=TIMEOUT_S)

    def _drop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            with contextlib.suppress(imaplib.IMAP4.error, OSError):
                server.shutdown()


def _took(answer: tuple[str, list[T]]) -> list[T]:
    """What the server says to a command that it took."""
    kind, data = answer
    if kind != "OK":
        said = data[0] if data else b""
        text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise OSError(f"{kind} {text}")
    return data
