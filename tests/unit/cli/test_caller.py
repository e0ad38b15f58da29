"""How a short command speaks HTTP: against a server on a port of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lockstep.cli.addresses import Addresses
from lockstep.cli.caller import Caller
from lockstep.cli.refusals import RefusedError
from lockstep.events import UnavailableError

EVENTS = b': hello\n\nid: 7\ndata: {"a": 1}\n\ndata: {"a":\ndata:  2}\n\n'


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Events below /v1, an error for /busy, else the request."""
        if self.path.endswith("/sse"):
            self._answer(200, EVENTS, {})
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
    assert list(suite.follow("App", "S")) == [("7", {"a": 1}), ("7", {"a": 2})]


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
        list(suite.follow("App", "S"))
