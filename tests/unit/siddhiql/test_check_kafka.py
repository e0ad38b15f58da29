"""Kafka sources and sinks: what their text shows to be impossible is refused by validation."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import check
from tests.unit.siddhiql.refusals import error_of_app, says

S = "define stream S (a int, b string);"


def _source(more: str = "", *, servers: str = "h:9092", topics: str = "t", group: str = "g") -> str:
    return (
        f"@source(type='kafka', bootstrap.servers='{servers}', topic.list='{topics}',"
        f" group.id='{group}'{more}, @map(type='json')) {S}"
    )


def _sink(more: str = "", *, servers: str = "h:9092", topic: str = "t") -> str:
    return (
        f"@sink(type='kafka', bootstrap.servers='{servers}', topic='{topic}'{more},"
        f" @map(type='json')) {S}"
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            f"@source(type='kafka', topic.list='t', group.id='g') {S}",
            ("needs 'bootstrap.servers'",),
        ),
        (_source(servers=""), ("'bootstrap.servers' is empty", "host:9092")),
        (_source(servers="h:9092, other:port"), ("holds 'other:port'", "host:9092")),
        (_source(servers="h:99999"), ("holds 'h:99999'",)),
        (_source(servers="h i:9092"), ("holds 'h i:9092'",)),
        (_source(topics=" , "), ("'topic.list' is empty",)),
        (_source(topics="t,a/b"), ("'a/b' is no name of a topic",)),
        (_source(group=" "), ("'group.id' is empty",)),
        (_source(", partition.no.list='0,x'"), ("holds 'x', not a number", "'0,1,2'")),
        (_source(", partition.no.list='-1'"), ("holds '-1', not a number",)),
        (_source(", partition.no.list=''"), ("'partition.no.list' is empty", "all partitions")),
        (_source(", topic.offsets.map='t:5'"), ("holds 't:5'", "name=value")),
        (_source(", topic.offsets.map='t=last'"), ("'last' for 't', not a number", "t=100")),
        (_source(", topic.offsets.map='u=5'"), ("names 'u'", "there is t")),
        (_source(", optional.configuration='a'"), ("holds 'a'", "name:value")),
        (_source(", optional.configuration=':b'"), ("holds ':b'", "name:value")),
        (_source(", optional.configuration='group.id:x'"), ("cannot set 'group.id'", "leave")),
        (_source(", enable.async.commit='maybe'"), ("'maybe'", "'true' or 'false'")),
        (_source(", threading.option='many'"), ("'many'", "single.thread")),
        (_sink(servers=","), ("'bootstrap.servers' is empty",)),
        (_sink(topic=""), ("'' is no name of a topic",)),
        (_sink(topic="a b"), ("'a b' is no name of a topic",)),
        (_sink(", partition.no='one'"), ("'partition.no' is 'one', not a number", "'key'")),
        (_sink(", is.synchronous='sure'"), ("'sure'", "'true' or 'false'")),
        (_sink(", sequence.id='a:b'"), ("'sequence.id' is 'a:b'", "leave : and ~ out")),
        (
            _sink(", optional.configuration='transactional.id:x'"),
            ("cannot set 'transactional.id'", "leave it out"),
        ),
        (
            _source(", optional.configuration='plugin.library.paths:/tmp/a.so'"),
            ("cannot set 'plugin.library.paths'", "loads or runs"),
        ),
        (
            _sink(", optional.configuration='sasl.kerberos.kinit.cmd:sh /tmp/a'"),
            ("cannot set 'sasl.kerberos.kinit.cmd'", "loads or runs"),
        ),
        (_sink(", optional.configuration='ssl.providers:/tmp/a'"), ("'ssl.providers'",)),
        (_sink(", optional.configuration='acks:1'"), ("sets 'acks' to '1'", "acks:all")),
        (
            _sink(", optional.configuration='max.in.flight.requests.per.connection:6'"),
            ("no transaction allows", "1 to 5"),
        ),
        (_sink(", optional.configuration='retries:0'"), ("'retries'", "1 or more")),
        (
            _sink(", optional.configuration='delivery.timeout.ms:30000'"),
            ("'delivery.timeout.ms'", "at most 20000"),
        ),
    ],
)
def test_options_that_cannot_work_are_refused(text: str, parts: tuple[str, ...]) -> None:
    """Each with its value and what to write instead."""
    says(error_of_app(text), *parts)


@pytest.mark.parametrize(
    ("own", "shared"),
    [
        ("bootstrap.servers='other:9092'", "'bootstrap.servers'"),
        ("optional.configuration='linger.ms:9'", "'optional.configuration'"),
    ],
)
def test_destinations_in_two_clusters_are_refused(own: str, shared: str) -> None:
    """At the one that differs: a transaction does not span them."""
    error = error_of_app(
        "@sink(type='kafka', bootstrap.servers='h:9092', topic='t', @map(type='json'),\n"
        "  @distribution(strategy='broadcast',\n"
        "    @destination(partition.no='0'),\n"
        f"    @destination(partition.no='1', {own}))) {S}"
    )
    says(error, "share " + shared, "one @sink for each")
    assert (error.line, error.column) == (4, 5)


def test_a_mistake_is_told_at_its_annotation() -> None:
    """Also behind others."""
    error = error_of_app("@app:name('A')\n@sink(type='log')\n  " + _sink(", partition.no='x'"))
    assert (error.line, error.column) == (3, 3)


@pytest.mark.parametrize(
    "text",
    [
        _source(", partition.no.list='0, 2', threading.option='partition.wise'"),
        _source(", topic.offsets.map='t=5', seq.enabled='true'", servers="a:1, [::1]:2,c"),
        _source(", optional.configuration='fetch.min.bytes:1, client.id:x:y'"),
        _sink(", partition.no='{{a}}', key='{{b}}', is.synchronous='true'", topic="x-{{b}}"),
        _sink(", optional.configuration='acks:all,message.timeout.ms:15000,linger.ms:5'"),
        f"@sink(type='kafka', topic='t', @map(type='json'), @distribution(strategy='roundRobin',"
        f" @destination(bootstrap.servers='a:1,b:1', partition.no='0'),"
        f" @destination(bootstrap.servers='b:1, a:1', partition.no='1'))) {S}",
    ],
)
def test_what_can_work_is_accepted(text: str) -> None:
    """Templates where they may stand, several servers, options of the client's own."""
    check(text)
