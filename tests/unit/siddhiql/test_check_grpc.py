"""What of gRPC is refused, and why."""

from __future__ import annotations

import pytest

from lockstep.mapping import check_connectors, map_of
from lockstep.mapping.protobuf.methods import service_of
from lockstep.siddhiql import SiddhiQLError, ast, check
from tests.unit.siddhiql.refusals import says

S = "define stream S (a int, b string);"
R = "define stream R (a int, b string);"
URL = "grpc://h:1/org.wso2.grpc.EventService"
OWN = "grpc://h:1/io.sample.Own"
JSON = "@map(type='json')"
SCHEMA = (
    "syntax = 'proto3'; package p; import 'google/protobuf/empty.proto'; message Other { int32 x ="
    " 1; } message M { int32 a = 1; string b = 2; } message N { int32 a = 1; string b = 2; }"
    " service Own { rpc ask(M) returns (p.N); rpc give(stream M) returns (google.protobuf.Empty); }"
)
PROTO = f'@map(type="protobuf", schema.def="""{SCHEMA}""")'.replace("'proto3'", "'proto3'")
SOURCE = f"@source(type='grpc', receiver.url='{URL}/consume'"
SERVICE = f"@source(type='grpc-service', source.id='s', receiver.url='{URL}/process'"
SAID = "@sink(type='grpc-service-response', source.id='s', message.id='{{b}}'"
SINK = f"@sink(type='grpc', publisher.url='{URL}/consume'"
CALL = f"@sink(type='grpc-call', sink.id='c', publisher.url='{URL}/process/seq'"
ANSWER = "@source(type='grpc-call-response', sink.id='c'"


def checked(text: str) -> None:
    """A whole app."""
    check_connectors(check(text))


@pytest.mark.parametrize(
    "text",
    [
        f"{SOURCE}, enable.ssl='true', threadpool.size='10', {JSON}) {S}",
        f"{SINK}, headers=\"'k:{{{{b}}}}'\", metadata='k:v', tls.ca.file='x', {JSON}) {S}",
        f"{SERVICE}, service.timeout='100', {JSON}) {S} {SAID}, headers='k:v', {JSON}) {R}",
        f"{CALL}, {JSON}) {S} {ANSWER}, {JSON}) {R}",
        f"@sink(type='grpc', publisher.url='grpc://h:1/seq') {S}",
        f"@source(type='grpc', receiver.url='{OWN}/give', {PROTO}) {S}",
        f"@sink(type='GRPC-call', sink.id='c', publisher.url='{OWN}/ask', {PROTO}) {S}"
        f" {ANSWER}, receiver.url='{OWN}/ask', {PROTO}) {R}",
    ],
)
def test_what_there_is_is_accepted(text: str) -> None:
    """Of the default service, and of one of one's own with its schema."""
    checked(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"@source(type='grpc', {JSON}) {S}", ("needs 'receiver.url'",)),
        (f"@sink(type='grpc', publisher.url='http://h:1/x') {S}", ("no grpc://host:port",)),
        (f"@source(type='grpc', receiver.url='{URL}/process') {S}", ("'process'", "'consume'")),
        (f"@sink(type='grpc', publisher.url='{URL}/process') {S}", ("'process'", "'consume'")),
        (f"{SERVICE}) {S}", ("no sink answers its calls", "grpc-service-response")),
        (f"{SAID}) {S}", ("no source takes calls", "type='grpc-service'")),
        (f"{CALL}) {S}", ("no source takes its answers", "grpc-call-response")),
        (f"{ANSWER}) {S}", ("no sink calls", "type='grpc-call'")),
        (f"{SINK}, keystore.file='x') {S}", ("no 'keystore.file'", "tls.ca.file")),
        (f"{SOURCE}, keystore.file='x') {S}", ("no 'keystore.file'", "receiver.sources_tls")),
        (f"{SINK}, {PROTO}) {S}", ("is text", "'protobuf' is bytes")),
        (
            f"@sink(type='grpc', publisher.url='{OWN}/give', {JSON}) {S}",
            ("io.sample.Own", "Protobuf"),
        ),
        (
            f"@sink(type='grpc', publisher.url='{OWN}/give', headers='k:v', {PROTO}) {S}",
            ("have no headers", "metadata"),
        ),
        (
            f"@sink(type='grpc', publisher.url='{OWN}/get', {PROTO}) {S}",
            ("the service p.Own has no method 'get'", "ask, give"),
        ),
        (
            f"{SERVICE}) {S} {SAID}, @distribution(strategy='broadcast', "
            f"@destination(headers='a:b'))) {R}",
            ("no @distribution", "whoever asked"),
        ),
    ],
)
def test_what_cannot_be_is_refused(text: str, parts: tuple[str, ...]) -> None:
    """With what to do instead."""
    with pytest.raises(SiddhiQLError) as caught:
        checked(text)
    says(caught.value, *parts)


def annotation_of(text: str) -> ast.Annotation:
    """The first of an app's first stream."""
    definition = check(text).app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    return definition.annotations[0]


@pytest.mark.parametrize(
    ("connector", "message"),
    [
        (f"@source(type='grpc', receiver.url='{OWN}/give'", "M"),
        (f"@source(type='grpc-service', source.id='s', receiver.url='{OWN}/ask'", "M"),
        (f"@sink(type='grpc-call', sink.id='c', publisher.url='{OWN}/ask'", "M"),
        (f"@source(type='grpc-call-response', sink.id='c', receiver.url='{OWN}/ask'", "p.N"),
        ("@source(type='grpc-call-response', sink.id='c'", None),
        ("@source(type='http'", None),
    ],
)
def test_a_method_says_which_message_is_meant(connector: str, message: str | None) -> None:
    """What it takes or what it answers; where nothing says which method, the first of the file."""
    mapping = map_of(annotation_of(f"{connector}, {PROTO}) {S}"))
    assert mapping is not None
    assert mapping.get("message") == message


def test_the_service_has_the_name_of_its_schema() -> None:
    """The url has a package of Java."""
    url = f"@sink(type='grpc', publisher.url='{OWN}/give'"
    assert service_of(annotation_of(f"{url}, {PROTO}) {S}")) == "p.Own"
    assert service_of(annotation_of(f"{SINK}, {JSON}) {S}")) == ""
    given = f"{PROTO[:-1]}, message='Other')"
    mapping = map_of(annotation_of(f"{url}, {given}) {S}"))
    assert mapping is not None
    assert mapping.get("message") == "Other"
