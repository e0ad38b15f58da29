"""Every subject and stream name of the bus, in one place.

Names of apps, groups and streams may hold any character: a token is percent-encoded, so that no
name can reach into another's subjects. `unescaped(escaped(name)) == name`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from urllib.parse import quote, unquote

from lockstep.bus.contract import LogName
from lockstep.events import Fault, LockstepError

INGRESS_STREAM: Final = "ingress"
DEAD_STREAM: Final = "dead"
INGRESS_ALL: Final = "ingress.>"
DEAD_ALL: Final = "dead.>"
INPUT_LOGS: Final = "in.>"
OUTPUT_LOGS: Final = "out.>"
MAX_TOKEN_BYTES: Final = 200
MAX_SUBJECT_BYTES: Final = 1_024
"""NATS cuts the connection of whoever sends a protocol line of more than 4,096 bytes."""
ID_HEADER: Final = "Nats-Msg-Id"
"""A client's own id of an ingress message; the same on every carrier."""
PROPERTIES_HEADER: Final = "Lockstep-Properties"
"""Of an ingress message: what `trp:` takes, as a JSON object in ASCII, in place of the headers."""
CONTROL: Final = "control"
"""The first word of all that services tell each other: these subjects carry proof (`proven.py`)."""

_WHITE_SPACE: Final = re.compile(r"[ \t\r\n]")
_EMPTY: Final = "%"  # never made by quoting, which always writes two digits behind the sign
_SHORTENED: Final = "%~"
_SHORTENED_BYTES: Final = 120
"""Of a long name, as much is left in front of its digest."""


class InvalidNameError(LockstepError):
    """A name that cannot be part of a subject."""

    fault = Fault.USER


def escaped(name: str) -> str:
    """The name as one token of a subject; InvalidNameError when it is too long."""
    token = quote(name, safe="").replace(".", "%2E") or _EMPTY
    if len(token) > MAX_TOKEN_BYTES:
        raise InvalidNameError(
            f"a name of {len(token)} bytes; {MAX_TOKEN_BYTES} are possible", where=name[:40],
            hint="choose a shorter one: a letter outside of ASCII takes 6 to 12 bytes",
        )  # fmt: skip
    return token


def refuse_unfit(subject: str) -> None:
    """InvalidNameError for a subject that would cut the connection on which it is sent."""
    size = len(subject.encode())
    if size > MAX_SUBJECT_BYTES:
        raise InvalidNameError(
            f"a subject of {size} bytes; {MAX_SUBJECT_BYTES} are possible", where=subject[:40]
        )
    if _WHITE_SPACE.search(subject):
        raise InvalidNameError("a subject with white space", where=repr(subject[:40]))


def shortened(name: str) -> str:
    """The name as a token, of any length: one that is too long has its digest in it, and is not
    read back. Topics and streams may be called anything, and what strangers send to an app or
    stream of such a name is refused, and that has to stand somewhere."""
    with suppress(InvalidNameError):
        return escaped(name)
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    begin = quote(name[:_SHORTENED_BYTES], safe="").replace(".", "")[:_SHORTENED_BYTES]
    return f"{begin}{_SHORTENED}{digest}"


def unescaped(token: str) -> str:
    """The name that `escaped` was given."""
    return "" if token == _EMPTY else unquote(token)


def input_subject(log: LogName) -> str:
    """in.<app>.<group>.<partition>[.<since>]: where receivers append."""
    return f"in.{_log_tokens(log)}"


def output_subject(log: LogName) -> str:
    """out.<app>.<group>.<partition>[.<since>]: where the leader appends."""
    return f"out.{_log_tokens(log)}"


def log_patterns(app: str | None, *, inputs: bool = False) -> tuple[str, ...]:
    """All input logs of an app, and unless only `inputs` are wanted all output logs; None: of all
    apps."""
    patterns = (INPUT_LOGS, OUTPUT_LOGS)
    if app is not None:
        patterns = (f"in.{escaped(app)}.>", f"out.{escaped(app)}.>")
    return patterns[:1] if inputs else patterns


def log_name(subject: str) -> LogName:
    """The log that has this subject."""
    _, app, group, partition, *since = subject.split(".")
    return LogName(unescaped(app), unescaped(group), int(partition), int(since[0]) if since else 0)


def log_names(subjects: Iterable[str]) -> list[LogName]:
    """The logs that have these subjects, each once, in order. What others keep on the same carrier
    under such a subject is none."""
    found: set[LogName] = set()
    for subject in subjects:
        with suppress(ValueError):
            found.add(log_name(subject))
    return sorted(found)


def dead_subject(app: str, stream: str) -> str:
    """dead.<app>.<stream>: refused events."""
    return f"dead.{shortened(app)}.{shortened(stream)}"


def dead_pattern(app: str, stream: str | None) -> str:
    """All dead letters of an app, or of one of its streams."""
    return f"dead.{shortened(app)}.{'*' if stream is None else shortened(stream)}"


def ingress_subject(app: str, stream: str) -> str:
    """ingress.<app>.<stream>: the bus clients' front door."""
    return f"ingress.{escaped(app)}.{escaped(stream)}"


def ingress_names(subject: str) -> tuple[str, str]:
    """(app, stream) of a message at the front door; the stream is all that follows the app."""
    _, app, *rest = subject.split(".")
    return unescaped(app), ".".join(unescaped(token) for token in rest)


def presenter_subject(app: str, stream: str) -> str:
    """presenter.<app>.<stream>: what dashboards subscribe to."""
    return f"presenter.{escaped(app)}.{shortened(stream)}"


def topic_subject(topic: str) -> str:
    """topic.<topic>: what in-memory sinks and sources of all apps share."""
    return f"topic.{shortened(topic)}"


def control_subject(topic: str, *names: str) -> str:
    """control.<topic>[.<name>…]: what services tell each other."""
    return ".".join((CONTROL, topic, *(escaped(name) for name in names)))


def stream_name(subject: str) -> str:
    """The carrier's name of the stream that holds one log.

    `+` and `=` are never part of an escaped token, so different subjects give different names.
    NATS before 2.14.3 lets nobody read a stream with a `%` in its name.
    """
    return earlier_stream_name(subject).replace("%", "=")


def earlier_stream_name(subject: str) -> str:
    """What streams were called before `%` was avoided. Those that are there keep this name."""
    return subject.replace(".", "+")


def subject_of(stream: str) -> str:
    """The subject of the log that a stream of this name holds."""
    return stream.replace("+", ".").replace("=", "%")


def matches(pattern: str, subject: str) -> bool:
    """Whether a subject fits a pattern with the wildcards `*` (one token) and `>` (one or more)."""
    wanted, found = pattern.split("."), subject.split(".")
    for i, token in enumerate(wanted):
        if token == ">":
            return len(found) > i
        if i >= len(found) or token not in ("*", found[i]):
            return False
    return len(wanted) == len(found)


def covers(wide: str, narrow: str) -> bool:
    """Whether every subject that fits the pattern `narrow` fits the pattern `wide`."""
    outer, inner = wide.split("."), narrow.split(".")
    for i, token in enumerate(outer):
        if token == ">":
            return len(inner) > i
        if i >= len(inner) or inner[i] == ">" or token not in ("*", inner[i]):
            return False
    return len(outer) == len(inner)


def _log_tokens(log: LogName) -> str:
    since = f".{log.since_ms}" if log.since_ms else ""
    return f"{escaped(log.app)}.{escaped(log.group)}.{log.partition}{since}"
