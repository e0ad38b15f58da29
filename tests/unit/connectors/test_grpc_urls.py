"""Which method an address of gRPC means, and the default service's message."""

from __future__ import annotations

import pytest

from lockstep.connectors.grpc.events import NoEventError, event_bytes, read_event
from lockstep.connectors.grpc.urls import EVENT_SERVICE, MethodUrl, method_url
from lockstep.siddhiql.catalogue import SignatureError


@pytest.mark.parametrize(
    ("text", "wanted", "path"),
    [
        (
            "grpc://h:1/seq",
            MethodUrl("h", 1, EVENT_SERVICE, "process", "seq"),
            "/eventservice.EventService/process",
        ),
        (
            "grpc://h:1/org.wso2.grpc.EventService/consume",
            MethodUrl("h", 1, "org.wso2.grpc.EventService", "consume"),
            "/eventservice.EventService/consume",
        ),
        (
            "grpc://h:1/EventService/process/inSeq",
            MethodUrl("h", 1, "EventService", "process", "inSeq"),
            "/eventservice.EventService/process",
        ),
        ("grpc://[::1]:1/a.B/c", MethodUrl("::1", 1, "a.B", "c"), "/a.B/c"),
    ],
)
def test_what_an_address_means(text: str, wanted: MethodUrl, path: str) -> None:
    """On the wire the default service has the name that the older products' programs use."""
    url = method_url(text, "process")
    assert url == wanted
    assert url.path() == path
    assert url.path("b.B") == f"/b.B/{wanted.method}"


def test_the_address_of_a_connection() -> None:
    """With brackets where there are colons."""
    assert method_url("grpc://[::1]:1/a.B/c", "x").target == "[::1]:1"
    assert method_url("grpc://h:1/a.B/c", "x").target == "h:1"


@pytest.mark.parametrize(
    "text",
    [
        "http://h:1/a.B/c",
        "grpc://h/a.B/c",
        "grpc://:1/a.B/c",
        "grpc://h:1",
        "grpc://h:1/",
        "grpc://h:1/a.B//c",
        "grpc://h:1/a.B/c/d",
        "grpc://h:1/EventService/process/a/b",
        "grpc://h:x/a.B/c",
        "grpc://[h:1/a.B/c",
    ],
)
def test_what_is_no_address(text: str) -> None:
    """The hint shows one."""
    with pytest.raises(SignatureError) as caught:
        method_url(text, "process")
    assert caught.value.hint == "grpc://host:8888/org.wso2.grpc.EventService/process"


def test_an_event_byte_for_byte() -> None:
    """Field 1 is the text, field 2 the map of headers."""
    written = event_bytes("hä", {"b": "2", "a": ""})
    assert written == b"\n\x03h\xc3\xa4\x12\x05\n\x01a\x12\x00\x12\x06\n\x01b\x12\x012"
    assert read_event(written) == ("hä", {"b": "2", "a": ""})
    assert read_event(b"") == ("", {})
    with pytest.raises(NoEventError):
        read_event(b"\n\xff")
