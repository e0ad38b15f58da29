"""How a short command speaks HTTP: against a server on a port of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any, ClassVar

import pytest

from lockstep.cli.addresses import DOORS, Addresses
from lockstep.cli.caller import FIRST_PAUSE_MS, GIVE_UP_AFTER_MS, LONGEST_PAUSE_MS, Caller
from lockstep.cli.refusals import RefusedError, UnsendableError
from lockstep.events import UnavailableError
from tests.unit.cli.conftest import Lockstep

EVENTS = b': hello\n\nid: 7\ndata: {"a": 1}\n\ndata: {"a":\ndata:  2}\n\n'


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Events below /v1, an error for /busy, else the request."""
        if self.path.endswith("/sse"):
            self._answer(200, EVENTS, {"Content-Type": "text/event-stream"})
        elif self.path == "/busy":
            self._answer(503, b'{"detail": "not now"}', {"Retry-After": "2"})
        elif self.path == "/empty":
            self._answer(204, b"", {})
        else:
            size = int(self.headers.get("Content-Length", 0))
            said = {
                "method": self.command,
                "path": self.path,
                "type": self.headers.get("Content-Type"),
                "token": self.headers.get("Authorization"),
                "body": self.rfile.read(size).decode(),
            }
            self._answer(200, json.dumps(said).encode(), {})

    do_POST = do_GET

    def log_message(self, *args: Any, **named: Any) -> None:
        """Says nothing."""

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def suite() -> Iterator[Caller]:
    """A caller with a token, and the server that it calls."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield Caller(Addresses(url, url, url, "secret"))
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_a_request_carries_what_it_was_given(suite: Caller) -> None:
    """Body, type, token, and a path and parameters of any letters."""
    url = f"{suite.addresses.coordinator}/v1/apps/Mühle 2"
    assert suite.request("POST", url, json_body={"a": 1}, params={"q": "x y"}) == {
        "method": "POST",
        "path": "/v1/apps/M%C3%BChle%202?q=x+y",
        "type": "application/json",
        "token": "Bearer secret",
        "body": '{"a": 1}',
    }


def test_headers_of_any_letters_are_sent(suite: Caller) -> None:
    """As UTF-8, as the receiver reads an idempotency key."""
    headers = {"Content-Type": "text/ключ"}
    answer = suite.request("POST", suite.addresses.receiver + "/", body=b"x", headers=headers)
    assert answer["type"].encode("latin-1").decode() == "text/ключ"


def test_an_empty_answer_is_none(suite: Caller) -> None:
    """There is nothing to decode."""
    assert suite.request("GET", f"{suite.addresses.coordinator}/empty") is None


def test_an_error_is_told_with_when_to_come_again(suite: Caller) -> None:
    """The service's words and its pause."""
    with pytest.raises(RefusedError, match="not now") as refused:
        suite.request("GET", f"{suite.addresses.coordinator}/busy")
    assert (refused.value.status, refused.value.retry_after_s) == (503, 2.0)
    assert refused.value.retryable


def test_events_are_followed(suite: Caller) -> None:
    """With their identity where they have one, over several lines, past comments."""
    following = suite.follow("App", "S", _quiet)
    assert list(islice(following, 2)) == [("7", {"a": 1}), ("7", {"a": 2})]


def _quiet(_: Any) -> None:
    """Says nothing, and waits for nothing."""


class Script(BaseHTTPRequestHandler):
    """Answers with one part of `parts` after the other: a stream of events, or a status."""

    parts: ClassVar[list[bytes | int]] = []
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        """The next part, which ends where the connection does."""
        self.asked.append(self.headers.get("Last-Event-ID"))
        part = self.parts.pop(0)
        self.send_response(part if isinstance(part, int) else 200)
        if isinstance(part, bytes):
            self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if isinstance(part, bytes):
            self.wfile.write(part)

    def log_message(self, *args: Any, **named: Any) -> None:
        """Says nothing."""


@pytest.fixture
def scripted() -> Iterator[Caller]:
    """A caller of `Script`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    Script.asked.clear()
    try:
        yield Caller(Addresses(url, url, url))
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


NOTICES = b'event: lagging\ndata: {"reason": "slow"}\n\nevent: gap\ndata: {"a": 0}\n\n'


def test_a_stream_that_ends_is_followed_again_behind_the_last_event(scripted: Caller) -> None:
    """Over a pause, as when an app is upgraded; notices are no rows."""
    Script.parts[:] = [b'id: 7\ndata: {"a": 1}\n\n' + NOTICES, 503, b'id: 8\ndata: {"a": 2}\n\n']
    told: list[str] = []
    paused: list[int] = []
    following = scripted.follow("App", "S", told.append, paused.append)
    assert list(islice(following, 2)) == [("7", {"a": 1}), ("8", {"a": 2})]
    assert Script.asked == [None, "7", "7"]
    assert told[:3] == [
        'lagging: {"reason": "slow"}', 'gap: {"a": 0}', "the stream has ended, connecting again",
    ]  # fmt: skip
    assert paused == [FIRST_PAUSE_MS, 2 * FIRST_PAUSE_MS]


def test_who_does_not_come_back_is_given_up(scripted: Caller) -> None:
    """With what was said last, after ever longer pauses."""
    Script.parts[:] = [b'id: 7\ndata: {"a": 1}\n\n', *[503] * 100]
    paused: list[int] = []
    following = scripted.follow("App", "S", _quiet, paused.append)
    assert next(following) == ("7", {"a": 1})
    with pytest.raises(RefusedError, match="HTTP 503"):
        next(following)
    assert GIVE_UP_AFTER_MS <= sum(paused) <= GIVE_UP_AFTER_MS + LONGEST_PAUSE_MS
    assert paused == sorted(paused)


@pytest.mark.parametrize("parts", [[404], [b"id: 7\ndata: 1\n\n", 404], [503]])
def test_what_would_be_no_use_again_is_not_asked_again(
    scripted: Caller, parts: list[bytes | int]
) -> None:
    """There is no such app, or none any more; and nobody was there at first."""
    Script.parts[:] = list(parts)
    with pytest.raises(RefusedError):
        list(scripted.follow("App", "S", _quiet, _quiet))
    assert Script.parts == []


def test_tail_shows_rows_alone(scripted: Caller, lockstep: Lockstep) -> None:
    """What is not one stands on the other output, and a failure is an exit code."""
    Script.parts[:] = [b'id: 7\ndata: {"a": 1}\n\n' + NOTICES, 404]
    doors = [f"--{door}={scripted.addresses.presenter}" for door in DOORS]
    said = lockstep(*doors, "tail", "App", "S", "--json")
    assert [json.loads(line) for line in said.stdout.splitlines()] == [
        {"id": "7", "event": {"a": 1}}
    ]
    assert "lagging" in said.stderr
    assert said.exit_code == 2


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://127.0.0.1:1", "connection refused"),
        ("127.0.0.1:8290", "no address of the form http://host:port"),
        ("ftp://127.0.0.1", "no address of the form http://host:port"),
        ("http://127.0.0.1:many", "no address of the form http://host:port"),
    ],
)
def test_no_answer_is_told_with_its_cause(address: str, why: str) -> None:
    """For a request and for a stream of events."""
    suite = Caller(Addresses(address, address, address))
    with pytest.raises(UnavailableError, match=f"cannot reach .*: {why}"):
        suite.status("App")
    with pytest.raises(UnavailableError, match=f"the connection to .* ended: {why}"):
        list(suite.follow("App", "S", _quiet))


def test_a_header_with_a_line_end_is_refused(suite: Caller) -> None:
    """Before a connection is made, without its value."""
    with pytest.raises(UnsendableError, match="Idempotency-Key") as refused:
        suite.request("GET", suite.addresses.receiver + "/", headers={"Idempotency-Key": "mine\n"})
    assert "mine" not in str(refused.value)
