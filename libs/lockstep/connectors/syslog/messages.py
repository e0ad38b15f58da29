"""Messages of syslog as RFC 5424 and RFC 3164 write them: read, and made. Pure."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FACILITIES: Final = (
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4",
    "local5", "local6", "local7",
)  # fmt: skip
SEVERITIES: Final = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_ALIASES: Final = {"panic": "emerg", "error": "err", "warn": "warning", "security": "auth"}

UNKNOWN_PRIORITY: Final = 13
"""Of what comes without one: a notice of a user's program (RFC 3164, 4.3.3)."""

_SEVERITIES_OF_EACH: Final = 8
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_BOM: Final = b"\xef\xbb\xbf"
_NIL: Final = "-"
_PRIORITY: Final = re.compile(rb"<(0|[1-9]\d{0,2})>")
_HEADER: Final = re.compile(rb"1 (\S+) (\S+) (\S+) (\S+) (\S+) (?=[\[-])")
_NAMES: Final = ("timestamp", "host", "app", "procid", "msgid")
_UNKNOWN: Final = dict.fromkeys((*_NAMES, "structured.data"), "")
_OLD_TIME: Final = re.compile(
    rb"([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]{8,}(?:Z|[+-]\d\d:\d\d)?) "
)
_OLD_HOST: Final = re.compile(rb"([\w.:%-]*[\w.%-]) (?=\S)")
_TAG: Final = re.compile(rb"([\w./@()#+-]{1,128})(?:\[([^\]\s]{0,128})\])?: ?")
_SD_NAME: Final = re.compile(r"[!#-<>-\\^-~]{1,32}")
_SD_PARAMETER: Final = re.compile(r' ([!#-<>-\\^-~]{1,32})="((?:[^"\\\]]|\\.)*)"', re.DOTALL)
_SD_ESCAPED: Final = re.compile(r'\\(["\\\]])')
_SD_TO_ESCAPE: Final = re.compile(r'(["\\\]])')

Elements = dict[str, dict[str, str]]
"""Structured data: parameters by the id of their element."""


class SyslogError(ValueError):
    """What cannot be read or written, in words."""


def number_of(name: str, names: tuple[str, ...]) -> int:
    """Of a facility or severity, by its name or its number. SyslogError."""
    text = name.strip().lower()
    text = _ALIASES.get(text, text)
    if text in names:
        return names.index(text)
    if text.isdecimal() and len(text) <= 2 and int(text) < len(names):
        return int(text)
    raise SyslogError(f"{name[:50]!r} is none of {', '.join(names)}")


def read_elements(text: str, at: int = 0) -> tuple[Elements, int]:
    """Structured data from a place on, and where it ends. SyslogError."""
    if text.startswith(_NIL, at):
        return {}, at + 1
    found: Elements = {}
    while text.startswith("[", at):
        name = _SD_NAME.match(text, at + 1)
        if name is None:
            raise SyslogError("an element of structured data has no id")
        at = name.end()
        parameters = found.setdefault(name[0], {})
        while (one := _SD_PARAMETER.match(text, at)) is not None:
            parameters[one[1]] = _SD_ESCAPED.sub(r"\1", one[2])
            at = one.end()
        if not text.startswith("]", at):
            raise SyslogError(f"the element {name[0]!r} of structured data does not end")
        at += 1
    if not found:
        raise SyslogError("there is no structured data")
    return found, at


def write_elements(elements: Mapping[str, Mapping[str, str]]) -> str:
    """On the wire; no elements are `-`."""
    return "".join(_element(name, given) for name, given in elements.items()) or _NIL


def _element(name: str, parameters: Mapping[str, str]) -> str:
    pairs = (f' {key}="{_SD_TO_ESCAPE.sub(_escaped, value)}"' for key, value in parameters.items())
    return f"[{name}{''.join(pairs)}]"


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[1]}"


def read_message(data: bytes) -> tuple[bytes, dict[str, str]]:
    """The text of a message, and what its header says: `priority`, `facility`, `severity` as
    numbers, the two also by `….name`; `timestamp`, `host`, `app`, `procid`, `msgid` and
    `structured.data`, empty where they are not given; each parameter as `sd.<id>.<name>`. What has
    no header is text alone. What has a broken one stays whole."""
    data = data.rstrip(b"\r\n\0")
    given = _PRIORITY.match(data)
    priority = UNKNOWN_PRIORITY if given is None else int(given[1])
    if given is None or priority >= len(FACILITIES) * _SEVERITIES_OF_EACH:
        return data, _of_priority(UNKNOWN_PRIORITY)
    properties, at = _of_priority(priority), given.end()
    header = _HEADER.match(data, at)
    if header is None:
        return _read_older(data, at, properties)
    rest = data[header.end() :].decode("latin-1")  # a letter a byte
    try:
        elements, end = read_elements(rest)
    except SyslogError:
        return data, properties
    if rest[end : end + 1] not in ("", " "):
        return data, properties
    for name, value in zip(_NAMES, header.groups(), strict=True):
        if value != b"-":
            properties[name] = value.decode("utf-8", "replace")
    if elements:
        properties["structured.data"] = _text(rest[:end])
    for id_, parameters in elements.items():
        properties |= {f"sd.{id_}.{name}": _text(value) for name, value in parameters.items()}
    return data[header.end() + end + 1 :].removeprefix(_BOM), properties


def _text(letters: str) -> str:
    return letters.encode("latin-1").decode("utf-8", "replace")


def _of_priority(priority: int) -> dict[str, str]:
    facility, severity = divmod(priority, _SEVERITIES_OF_EACH)
    return {
        "priority": str(priority), "facility": str(facility), "severity": str(severity),
        "facility.name": FACILITIES[facility], "severity.name": SEVERITIES[severity], **_UNKNOWN,
    }  # fmt: skip


def _read_older(data: bytes, at: int, properties: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """RFC 3164: without a time there is nothing else in front of the text, either."""
    time = _OLD_TIME.match(data, at)
    if time is None:
        return data[at:].removeprefix(_BOM), properties
    properties["timestamp"] = time[1].decode()
    at = time.end()
    host = _OLD_HOST.match(data, at)
    if host is not None:
        properties["host"] = host[1].decode()
        at = host.end()
    tag = _TAG.match(data, at)
    if tag is not None:
        properties["app"] = tag[1].decode()
        if tag[2]:
            properties["procid"] = tag[2].decode("utf-8", "replace")
        at = tag.end()
    return data[at:].removeprefix(_BOM), properties


@dataclass(frozen=True, slots=True)
class Header:
    """What stands in front of a message's text; empty: it is not known."""

    facility: int
    severity: int
    timestamp_ms: int
    host: str = ""
    app: str = ""
    procid: str = ""
    msgid: str = ""

    @property
    def _priority(self) -> int:
        return self.facility * _SEVERITIES_OF_EACH + self.severity

    @property
    def _time(self) -> datetime.datetime:
        try:
            return _EPOCH + datetime.timedelta(milliseconds=self.timestamp_ms)
        except OverflowError as error:
            raise SyslogError(f"its time, {self.timestamp_ms} ms, is in no year") from error

    def write(self, elements: Mapping[str, Mapping[str, str]], body: bytes) -> bytes:
        """As RFC 5424 says it. SyslogError for what its names cannot hold."""
        time = self._time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        names = (
            _name("host.name", self.host, 255), _name("app.name", self.app, 48),
            _name("proc.id", self.procid, 128), _name("msg.id", self.msgid, 32),
        )  # fmt: skip
        head = f"<{self._priority}>1 {time} {' '.join(names)} {write_elements(elements)} "
        return head.encode() + body

    def write_older(self, body: bytes) -> bytes:
        """As RFC 3164 says it, the time in UTC. SyslogError."""
        time = f"{self._time:%b} {self._time.day:2} {self._time:%H:%M:%S}"
        app = _name("app.name", self.app, 32)
        procid = f"[{_name('proc.id', self.procid, 128)}]" if self.procid else ""
        head = f"<{self._priority}>{time} {_name('host.name', self.host, 255)} {app}{procid}: "
        return head.encode() + body


def _name(option: str, text: str, limit: int) -> str:
    if len(text) > limit or not all("!" <= letter <= "~" for letter in text):
        raise SyslogError(
            f"{option} is {text[:100]!r}: at most {limit} letters of ASCII, without blanks"
        )
    return text or _NIL
