"""@sink(type='email'): delivered when the mail server has taken the mail.

The Message-ID is made of the output's identity, so mail servers and clients that drop copies know
a mail that is sent again.
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

from lockstep.connectors.tls import context_of
from lockstep.sinks import Message, MessageRefusedError, Sink

TIMEOUT_S: Final = 20.0


class EmailSink(Sink):
    """Options: `address`, `to`, `subject`, `host` (smtp.gmail.com), `port` (465) …"""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._host = options.get("host", "smtp.gmail.com")
        self._port = int(options.get("port", 465))
        self._ssl = options.get("ssl.enable", "true").lower() == "true"
        self._logs_in = options.get("auth", "true").lower() == "true"
        self._server: smtplib.SMTP | None = None

    async def send(self, message: Message) -> None:
        try:
            mail, receivers = self._mail(message)
        except (AttributeError, LookupError, ValueError) as error:  # Python's parser trips, too
            raise MessageRefusedError(f"the event makes no mail: {error}") from error
        await asyncio.to_thread(self._deliver, mail, receivers)

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

    def _deliver(self, mail: EmailMessage, receivers: list[str]) -> None:
        try:
            server = self._connected()
            server.send_message(mail, self._options["address"], receivers)
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError) as error:
            self._server = None
            codes = [code for code, _ in getattr(error, "recipients", {}).values()]
            code = min(codes, default=getattr(error, "smtp_code", 500))
            if code < 500:
                raise OSError(f"the mail server cannot take it now: {error}") from error
            raise MessageRefusedError(f"the mail server refuses the mail: {error}") from error
        except (smtplib.SMTPException, OSError) as error:
            self._server = None
            raise OSError(f"the mail server at {self._host}:{self._port}: {error}") from error

    def _connected(self) -> smtplib.SMTP:
        if self._server is not None and self._server.noop()[0] == 250:
            return self._server
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
        self._server = server
        return server

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.close)
