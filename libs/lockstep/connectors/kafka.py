"""Kafka sources and sinks, with all options that can be judged from the text (extensions 12.3).

Not judged: names in `optional.configuration`, which are those of the client's version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lockstep.secrets.closed import refuse_closed
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    ConnectorExtension,
    dynamic,
    option,
    options_given,
    without_meaning,
)
from lockstep.siddhiql.parts import pairs, parts
from lockstep.tls import TlsFiles

TRANSACTION_TIMEOUT_MS: Final = 20_000
"""After so long a broker ends a sink's transaction; no record may be under way for longer."""

_SERVERS: Final = "bootstrap.servers"
_CONFIGURATION: Final = "optional.configuration"
_HOST: Final = re.compile(r"(?:[A-Za-z0-9+_]+://)?(?:\[[0-9A-Fa-f:.]+\]|[^\s:,/\[\]]+)(?::(\d+))?")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_TEMPLATE: Final = "{{"
_LARGEST_PARTITION: Final = 2**31 - 1
_LARGEST_OFFSET: Final = 2**63 - 1

_SOURCE_OWNED: Final = frozenset({_SERVERS, "metadata.broker.list", "group.id"}) | {
    "enable.auto.commit"
}
_SINK_OWNED: Final = frozenset({_SERVERS, "metadata.broker.list", "transactional.id"}) | {
    "enable.idempotence",
    "transaction.timeout.ms",
}

_FILES: Final = (".location", ".file", ".keytab")
"""What settings of the client end with whose values are files."""
_TRUSTED: Final = frozenset({"ssl.ca.location", "https.ca.location", "ssl.crl.location"})
"""Those of certificates of others: whom the suite trusts an app may trust, too."""
_PROGRAMS: Final = frozenset({"plugin.library.paths", "sasl.kerberos.kinit.cmd"}) | {
    "ssl.engine.id",
    "ssl.engine.location",
    "ssl.providers",
}
"""What the client would load or run, as the user of the service."""


def _whole(text: str, low: int, high: int) -> bool:
    return text.isdecimal() and len(text) <= 19 and low <= int(text) <= high


def is_topic(text: str) -> bool:
    """Whether Kafka takes it for a name of a topic."""
    return _TOPIC.fullmatch(text) is not None and text not in (".", "..")


def is_partition(text: str) -> bool:
    """Whether it is a number that a partition may have."""
    return text.isascii() and _whole(text, 0, _LARGEST_PARTITION)


def files_of(settings: Mapping[str, object]) -> TlsFiles:
    """What a client with these settings of librdkafka reads when it is made."""
    names = ("ca.location", "certificate.location", "key.location")
    authority, certificate, key = (str(settings.get(f"ssl.{name}", "")) for name in names)
    return TlsFiles(authority, certificate, key, password=str(settings.get("ssl.key.password", "")))


def refuse_own_files(settings: Mapping[str, object]) -> None:
    """OSError for a file of the suite itself that a client with these settings would show or speak
    with. Asks the file system: call it on a thread."""
    named = (
        str(value)
        for name, value in settings.items()
        if name.endswith(_FILES) and name not in _TRUSTED
    )
    refuse_closed(*named)


Rule = tuple[Callable[[str], bool], str]

_ALL_ACKNOWLEDGE: Rule = (lambda text: text.lower() in ("all", "-1"), "all")
_FEW_UNDER_WAY: Rule = (lambda text: _whole(text, 1, 5), "1 to 5")
_TRIED_AGAIN: Rule = (lambda text: _whole(text, 1, 2**31 - 1), "1 or more")
_SHORT_ENOUGH: Rule = (
    lambda text: _whole(text, 0, TRANSACTION_TIMEOUT_MS),
    f"at most {TRANSACTION_TIMEOUT_MS}",
)
_TRANSACTIONAL: Final[Mapping[str, Rule]] = {
    "acks": _ALL_ACKNOWLEDGE,
    "request.required.acks": _ALL_ACKNOWLEDGE,
    "max.in.flight": _FEW_UNDER_WAY,
    "max.in.flight.requests.per.connection": _FEW_UNDER_WAY,
    "retries": _TRIED_AGAIN,
    "message.send.max.retries": _TRIED_AGAIN,
    "message.timeout.ms": _SHORT_ENOUGH,
    "delivery.timeout.ms": _SHORT_ENOUGH,
    "queuing.strategy": (lambda text: text == "fifo", "fifo"),
}
"""What the client refuses beside a transactional id, with the values that it takes."""


def _source(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    _servers(given[_SERVERS])
    topics = parts(given["topic.list"])
    if not topics:
        raise SignatureError("'topic.list' is empty", "topic.list='readings,alarms'")
    for topic in topics:
        _topic("topic.list", topic)
    if not given["group.id"].strip():
        raise SignatureError("'group.id' is empty", "group.id='lockstep'")
    if "partition.no.list" in given:
        _partitions(given["partition.no.list"])
    _offsets(given.get("topic.offsets.map", ""), topics)
    _configuration(given.get(_CONFIGURATION, ""), _SOURCE_OWNED, {})


def _sink(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    _servers(given[_SERVERS])
    if _TEMPLATE not in given["topic"]:
        _topic("topic", given["topic"])
    partition = given.get("partition.no", "0")
    if _TEMPLATE not in partition and not _whole(partition, 0, _LARGEST_PARTITION):
        raise SignatureError(
            f"'partition.no' is {partition!r}, not a number",
            "partition.no='0', or leave it out so that 'key' decides",
        )
    if {":", "~"} & set(given.get("sequence.id", "")):
        raise SignatureError(
            f"'sequence.id' is {given['sequence.id']!r}",
            "leave : and ~ out: they stand behind it in the record",
        )
    _configuration(given.get(_CONFIGURATION, ""), _SINK_OWNED, _TRANSACTIONAL)


def _servers(text: str) -> None:
    servers = parts(text)
    if not servers:
        raise SignatureError(f"{_SERVERS!r} is empty", f"{_SERVERS}='host:9092,other:9092'")
    for server in servers:
        found = _HOST.fullmatch(server)
        if found is None or not _whole(found[1] or "9092", 1, 65_535):
            raise SignatureError(
                f"{_SERVERS!r} holds {server!r}", f"{_SERVERS}='host:9092,other:9092'"
            )


def _topic(name: str, topic: str) -> None:
    if not is_topic(topic):
        raise SignatureError(
            f"{name!r}: {topic!r} is no name of a topic",
            "at most 249 letters, digits, dots, underscores and hyphens",
        )


def _partitions(text: str) -> None:
    found = parts(text)
    if not found:
        raise SignatureError("'partition.no.list' is empty", "leave it out to read all partitions")
    for one in found:
        if not _whole(one, 0, _LARGEST_PARTITION):
            raise SignatureError(
                f"'partition.no.list' holds {one!r}, not a number", "partition.no.list='0,1,2'"
            )


def _offsets(text: str, topics: Sequence[str]) -> None:
    for topic, offset in _pairs("topic.offsets.map", text, "="):
        if topic not in topics:
            raise SignatureError(
                f"'topic.offsets.map' names {topic!r}, which 'topic.list' does not",
                f"there is {', '.join(topics)}",
            )
        if not _whole(offset, 0, _LARGEST_OFFSET):
            raise SignatureError(
                f"'topic.offsets.map' holds {offset!r} for {topic!r}, not a number",
                f"topic.offsets.map='{topic}=100'",
            )


def _configuration(text: str, owned: frozenset[str], rules: Mapping[str, Rule]) -> None:
    for name, value in _pairs(_CONFIGURATION, text, ":"):
        if name in owned:
            raise SignatureError(
                f"{_CONFIGURATION!r} cannot set {name!r}", "it is set by Lockstep: leave it out"
            )
        if name in _PROGRAMS:
            raise SignatureError(
                f"{_CONFIGURATION!r} cannot set {name!r}",
                "no app says what a service loads or runs: leave it out",
            )
        if name in rules and not rules[name][0](value):
            raise SignatureError(
                f"{_CONFIGURATION!r} sets {name!r} to {value!r}, which no transaction allows",
                f"{name}:{rules[name][1]}, or leave it out",
            )


def _pairs(option_name: str, text: str, between: str) -> list[tuple[str, str]]:
    try:
        return pairs(text, between)
    except ValueError as error:
        raise SignatureError(
            f"{option_name!r} holds '{error}'", f"write name{between}value, with commas"
        ) from error


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "kafka",
        (
            Overload(
                (
                    option(_SERVERS, needed=True),
                    option("topic.list", needed=True),
                    option("group.id", needed=True),
                    option(
                        "threading.option",
                        choices=("single.thread", "topic.wise", "partition.wise"),
                    ),
                    option("partition.no.list"),
                    option("seq.enabled", BOOL),
                    option("topic.offsets.map"),
                    option(_CONFIGURATION),
                    *without_meaning(
                        "is.binary.message enable.offsets.commit enable.async.commit", BOOL
                    ),
                ),
                check=_source,
            ),
        ),
        doc="Records of topics, shared by all receivers as members of one group.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on at the group's offset",
            poison="dead letter",
            pressure="stays in the topic",
            repeat="known by topic, partition, offset",
        ),
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "kafka",
        (
            Overload(
                (
                    option(_SERVERS, needed=True),
                    dynamic("topic", needed=True),
                    dynamic("partition.no"),
                    dynamic("key"),
                    option("sequence.id"),
                    option(_CONFIGURATION),
                    *without_meaning("is.binary.message is.synchronous", BOOL),
                ),
                check=_sink,
            ),
        ),
        doc="A record per message, in one transaction with the place in the output log.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="a new transaction",
            poison="on.error",
            pressure="waits for the transaction",
            repeat="never, for who reads committed",
        ),
        shared=(
            (_SERVERS, _CONFIGURATION),
            "a transaction does not span two clusters or clients: write one @sink for each",
        ),
    ),
)
