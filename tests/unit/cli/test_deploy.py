"""What `lockstep deploy` says of an app in several units, and what --dry-run asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

FIRST = "query 'a' (its state is kept otherwise)"
SECOND = "query 'b' (changed: its output)"


class Suite(BaseHTTPRequestHandler):
    """An app in two units, of which something began empty."""

    asked: list[Any]

    def do_PUT(self) -> None:
        """The coordinator's deployment."""
        self._read()
        told = {"app": "A", "version": "v", "units": 2, "layout": 5, "created": False}
        self._answer({**told, "changed": True, "waiting": None})

    def do_GET(self) -> None:
        """Who leads the units."""
        leads = {"role": "active", "version": "v", "layout": 5, "node": "n", "begins_behind": 7}
        lost: list[list[str]] = [[FIRST], [FIRST, SECOND]]
        self._answer({"replicas": [{**leads, "began_empty": each} for each in lost]})

    def do_POST(self) -> None:
        """A preview."""
        self.asked.append(self._read())
        told = {"app": "A", "version": "v", "created": False, "changed": True}
        self._answer({**told, "begins_empty": [FIRST]})

    def log_message(self, *args: Any, **named: Any) -> None:
        """Says nothing."""

    def _read(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def url() -> Iterator[str]:
    """Of one address for the whole suite."""
    Suite.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Suite)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A text."""
    path = tmp_path / "a.siddhi"
    path.write_text("an app")
    return path


def test_what_began_empty_in_any_unit_is_said_once(
    lockstep: Callable[..., Result], url: str, file: Path
) -> None:
    """Also as JSON."""
    said = lockstep("--url", url, "deploy", file)
    assert said.stdout.splitlines() == [
        "deployed A version v in 2 units",
        f"A: it goes on from position 7 with its state; what begins empty: {FIRST}, {SECOND}",
    ]
    told = json.loads(lockstep("--url", url, "deploy", "--json", file).stdout)
    assert told["leader"]["began_empty"] == [FIRST, SECOND]


def test_a_dry_run_asks_for_the_number_of_partitions(
    lockstep: Callable[..., Result], url: str, file: Path
) -> None:
    """What is cut otherwise begins empty."""
    said = lockstep("--url", url, "deploy", "--dry-run", "--parallel", "3", file)
    assert Suite.asked == [{"text": "an app", "parallel": 3}]
    assert said.stdout.endswith(f"what would begin empty: {FIRST}\n")


def test_a_replica_that_fails_says_why_nobody_leads(
    lockstep: Callable[..., Result], url: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than that there is no processor for a second one."""
    fails = {"role": "failing", "version": "v", "layout": 5, "node": "n", "trouble": "boom"}

    def replicas(suite: Suite) -> None:
        suite._answer({"replicas": [{**fails, "began_empty": []}]})

    monkeypatch.setattr(Suite, "do_GET", replicas)
    monkeypatch.setattr("lockstep.cli.commands.deploy.LEADS_LIMIT_MS", 0)
    said = lockstep("--url", url, "deploy", str(file))
    assert "its replica on n says: boom" in said.stderr
