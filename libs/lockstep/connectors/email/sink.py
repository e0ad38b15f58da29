"""@sink(type='email'): delivered when the mail server has taken the mail.

The Message-ID is made of the output's identity, so mail servers and clients that drop copies know
a mail that is sent again. A server that takes a mail for some of its receivers delivers it to them;
only the others are tried again.
"""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import formatdate, getaddresses
from typing import Final
from urllib.parse import quote

from lockstep.connectors.endpoints import PORT_MAX, opening
from lockstep.connectors.tls import context_of
from lockstep.sinks import Message, MessageRefusedError, Sink

TIMEOUT_S: Final = 20.0
MAX_KEPT: Final = 1_024
"""Mails of which it is known who has them, while others have not."""

_Refusals = Mapping[str, tuple[int, bytes]]
"""By address: the server's code and words."""


class EmailSink(Sink):
    """Options: `address`, `to`, `subject`, `host` (smtp.gmail.com), `port` (465) …"""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._host = options.get("host", "smtp.gmail.com")
        self._port = int(options.get("port", 465))
        if not 0 < self._port <= PORT_MAX:
            raise ValueError("'port' is no port")  # sockets would take another one in silence
        self._ssl = options.get("ssl.enable", "true").lower() == "true"
        self._logs_in = options.get("auth", "true").lower() == "true"
        self._server: smtplib.SMTP | None = None
        self._taken_for: dict[str, frozenset[str]] = {}

    async def send(self, message: Message) -> None:
        try:
            mail, receivers = self._mail(message)
        except (AttributeError, LookupError, ValueError) as error:  # Python's parser trips, too
            raise MessageRefusedError(f"the event makes no mail: {error}") from error
        await asyncio.to_thread(self._deliver, message.id, mail, receivers)

    def begin_again(self) -> None:
        self._taken_for.clear()

    def _mail(self, message: Message) -> tuple[EmailMessage, list[str]]:
        filled = {
            name: message.fill(self._options[name])
            for name in ("subject", "to", "cc", "bcc")
            if name in self._options
        }
        mail = EmailMessage()
        mail["From"], mail["Subject"] = self._options["address"], filled["subject"]
        mail["Date"] = formatdate(message.timestamp_ms / 1000)
        mail["Message-ID"] = f"<{quote(message.id, safe='.-')}@lockstep>"
        for name in ("to", "cc"):
            if filled.get(name):
                mail[name.title()] = filled[name]
        main, _, sub = self._options.get("content.type", "text/plain").partition("/")
        if main != "text":
            raise ValueError(f"the content type {main}/{sub} is no text")
        mail.set_content(message.payload.decode(), subtype=sub.split(";")[0] or "plain")
        lists = [filled.get(name, "") for name in ("to", "cc", "bcc")]
        receivers = [address for _, address in getaddresses(lists) if address]
        if not receivers:
            raise ValueError("there is no receiver")
        return mail, receivers

    def _deliver(self, identity: str, mail: EmailMessage, receivers: list[str]) -> None:
        """To those for whom no server has taken it yet."""
        taken_for = self._taken_for.get(identity, frozenset())
        left = [address for address in dict.fromkeys(receivers) if address not in taken_for]
        refused = self._refused(mail, left) if left else {}
        if not refused:
            self._taken_for.pop(identity, None)
            return
        self._keep(identity, taken_for.union(left).difference(refused))
        words = "; ".join(
            f"{address}: {code} {text.decode(errors='replace')}"
            for address, (code, text) in refused.items()
        )
        if min(code for code, _ in refused.values()) < 500:
            raise OSError(f"the mail server cannot take it now for {words}")
        others = "; all others have got it" if identity in self._taken_for else ""
        raise MessageRefusedError(f"the mail server refuses the mail for {words}{others}")

    def _keep(self, identity: str, taken_for: frozenset[str]) -> None:
        """The mail comes again: soon, or one day out of the error store."""
        if not taken_for:
            return
        self._taken_for[identity] = taken_for
        if len(self._taken_for) > MAX_KEPT:
            del self._taken_for[next(iter(self._taken_for))]

    def _refused(self, mail: EmailMessage, receivers: list[str]) -> _Refusals:
        """For whom the server does not take it; it has taken it for the others."""
        try:
            return self._connected().send_message(mail, self._options["address"], receivers)
        except smtplib.SMTPRecipientsRefused as error:
            self._server = None
            # One that ends the connection (421) names itself alone: nobody has got it then.
            return {**dict.fromkeys(receivers, min(error.recipients.values())), **error.recipients}
        except smtplib.SMTPDataError as error:
            self._server = None
            words = error.smtp_error
            text = words if isinstance(words, bytes) else words.encode()
            return dict.fromkeys(receivers, (error.smtp_code, text))
        except (smtplib.SMTPException, OSError) as error:
            self._server = None
            raise OSError(f"the mail server at {self._host}:{self._port}: {error}") from error

    def _connected(self) -> smtplib.SMTP:
        if self._server is not None and self._server.noop()[0] == 250:
            return self._server
        with opening("a host, a name or a password that no mail server can have"):
            self._server = self._opened()
        return self._server

    def _opened(self) -> smtplib.SMTP:
        if self._ssl:
            context = context_of(self._options) or ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, timeout=TIMEOUT_S, context=context
            )
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=TIMEOUT_S)
        if self._logs_in:
            name = self._options.get("username", self._options["address"])
            server.login(name, self._options.get("password", ""))
        return server

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.close)
