"""What `lockstep replay` and `lockstep send` say of rows that a receiver refuses. An HTTP server
reads them as the receiver does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiohttp import web
from typer.testing import CliRunner, Result

from lockstep.cli.command import app
from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.frame.problems import problem_response, respond
from lockstep_services.receiver.accept import MAX_REFUSED_LINES, Accepted
from lockstep_services.receiver.decode import MalformedBodyError, decode_text, media_type
from lockstep_services.receiver.routes import _answer
from lockstep_services.receiver.submissions import Receipt
from lockstep_services.receiver.values import EventReader
from tests.unit.cli.conftest import Lockstep

TEXT = "@app:name('N') define stream R (n int, x double); from R select n insert into O;"
SCHEMA = StreamSchema(
    "R", (Attribute("n", AttributeType.INT), Attribute("x", AttributeType.DOUBLE))
)
TOO_LARGE = 3_000_000_000
NUMBERS = (1, 2, TOO_LARGE, TOO_LARGE + 1, 5, 6)


class Suite(BaseHTTPRequestHandler):
    """A coordinator that knows one app, and its receiver."""

    protocol_version = "HTTP/1.1"
    doors: ClassVar[tuple[str, ...]]
    taken: ClassVar[list[tuple[Any, ...]]]
    keys: ClassVar[set[str]]
    max_refused: ClassVar[int]
    max_body_bytes: ClassVar[int]
    bodies_left: ClassVar[int]
    """Then the sender has no right to send any more."""

    def do_GET(self) -> None:
        """The app."""
        self._say(web.json_response({"text": TEXT}))

    def do_POST(self) -> None:
        """Events, each body once for its key."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not type(self).bodies_left:
            self._say(problem_response(HTTPStatus.FORBIDDEN, "you may not send"))
            return
        type(self).bodies_left -= 1
        if len(body) > self.max_body_bytes:
            self._say(problem_response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "it is too large"))
            return
        try:
            decoded = decode_text(
                media_type(self.headers["Content-Type"]), body, EventReader(SCHEMA),
                max_refused=self.max_refused,
            )  # fmt: skip
        except MalformedBodyError as error:
            self._say(respond(error))
            return
        receipt, rows = None, [event.data for chunk in decoded.chunks for event in chunk]
        if rows:
            key = self.headers.get("Idempotency-Key") or f"own {len(self.keys)}"
            receipt = Receipt(1, 1, key in self.keys)
            self.taken.extend(() if receipt.duplicate else rows)
            self.keys.add(key)
        self._say(_answer(Accepted(len(rows), len(rows), receipt, decoded.refused)))

    def log_message(self, *args: Any, **named: Any) -> None:
        """Says nothing."""

    def _say(self, answer: web.Response) -> None:
        body = answer.body
        assert isinstance(body, bytes)
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def suite() -> Iterator[type[Suite]]:
    """With a port, and nothing sent yet."""

    class Fresh(Suite):
        taken, keys = [], set()
        max_refused, bodies_left, max_body_bytes = MAX_REFUSED_LINES, 100, 1_000_000

    server = ThreadingHTTPServer(("127.0.0.1", 0), Fresh)
    Fresh.doors = ("--url", f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield Fresh
    server.shutdown()
    thread.join()
    server.server_close()


def _file(tmp_path: Path, rows: str) -> Path:
    path = tmp_path / "n.csv"
    path.write_text(rows)
    return path


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """Two in the middle are too large for an int."""
    return _file(tmp_path, "n,x\n" + "".join(f"{n},1.5\n" for n in NUMBERS))


def _replay(lockstep: Lockstep, suite: type[Suite], file: Path, *options: object) -> Result:
    doors = ("--directory", file.parent, *suite.doors)
    return lockstep(*doors, "replay", "N", "R", file, *options)


@pytest.mark.parametrize("batch", [1, 3, 100])
@pytest.mark.parametrize("max_refused", [0, 1, 1_000])
def test_all_rows_but_the_refused_ones_go_in(
    lockstep: Lockstep, suite: type[Suite], numbers: Path, batch: int, max_refused: int
) -> None:
    """In order and once, also when the same is done again. However many go together, and however
    many the receiver names before it refuses a body as a whole."""
    suite.max_refused = max_refused
    for there in ("", ", 4 were there already"):
        said = _replay(lockstep, suite, numbers, "--batch", batch)
        assert said.exit_code == 2, said.output
        assert said.stdout.splitlines()[-1] == f"accepted 4 refused 2{there}"
        told = [line.split(":")[0] for line in said.stderr.splitlines()]
        assert told == ["refused row 3", "refused row 4"]
        assert "n: " in said.stderr
        assert [n for n, _ in suite.taken] == [1, 2, 5, 6]


def test_more_rows_are_refused_than_a_receiver_names(
    lockstep: Lockstep, suite: type[Suite], tmp_path: Path
) -> None:
    """What is behind them goes in."""
    many = MAX_REFUSED_LINES + 500
    rows = [*(TOO_LARGE for _ in range(many)), *range(1_000)]
    file = _file(tmp_path, "n,x\n" + "".join(f"{n},1\n" for n in rows))
    said = _replay(lockstep, suite, file, "--batch", 2_000, "--json")
    total = json.loads(said.stdout)
    assert (total["accepted"], total["refused"], total["left"]) == (1_000, many, 0)
    assert total["reasons"][0].startswith("row 1: n: ")
    assert [n for n, _ in suite.taken] == list(range(1_000))


def test_rows_too_large_together_go_in_halves(
    lockstep: Lockstep, suite: type[Suite], tmp_path: Path
) -> None:
    """One that is too large alone is refused alone."""
    suite.max_body_bytes = 100
    file = _file(tmp_path, f"n,x,more\n1,1,\n2,1,{'z' * 100}\n3,1,\n4,1,\n")
    for there in ("", ", 3 were there already"):
        said = _replay(lockstep, suite, file)
        assert said.exit_code == 2, said.output
        assert said.stdout.splitlines()[-1] == f"accepted 3 refused 1{there}"
        assert said.stderr == "refused row 2: it is too large\n"
    assert [n for n, _ in suite.taken] == [1, 3, 4]


def test_a_refused_row_is_named_as_the_file_has_it(
    lockstep: Lockstep, suite: type[Suite], tmp_path: Path
) -> None:
    """Whatever order the rows go in."""
    file = _file(tmp_path, f"n,x,at\n{TOO_LARGE},1,30\n1,1,20\n2,1,10\n")
    said = _replay(lockstep, suite, file, "--time-column", "at", "--batch", 2)
    assert said.stderr.startswith("refused row 1: n: "), said.output
    assert [n for n, _ in suite.taken] == [2, 1]


@pytest.mark.parametrize("bodies", [0, 1])
def test_what_is_no_matter_of_rows_ends_it(
    lockstep: Lockstep, suite: type[Suite], numbers: Path, bodies: int
) -> None:
    """With what went in until then."""
    suite.bodies_left = bodies
    said = _replay(lockstep, suite, numbers, "--batch", 2, "--json")
    assert (said.exit_code, said.stderr) == (2, "error: you may not send\n")
    total = {"accepted": 2, "refused": 0, "duplicates": 0, "left": 4, "reasons": []}
    assert [json.loads(line) for line in said.stdout.splitlines()] == [total] * bodies
    suite.bodies_left, suite.keys = bodies, set()
    told = _replay(lockstep, suite, numbers, "--batch", 2).stdout
    assert ("accepted 2 refused 0, 4 are left" in told) == bool(bodies)


def test_whoever_may_not_send_hears_that_also_of_an_app_that_is_not_there(
    lockstep: Lockstep, suite: type[Suite], numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver answers, whatever the coordinator knows."""
    gone = problem_response(HTTPStatus.NOT_FOUND, "no app named 'N' is deployed")
    monkeypatch.setattr(suite, "do_GET", lambda door: door._say(gone))
    suite.bodies_left = 0
    said = _replay(lockstep, suite, numbers)
    assert "you may not send" in said.stderr
    assert said.exit_code != 0


def test_one_odd_value_refuses_its_row_alone(
    lockstep: Lockstep, suite: type[Suite], tmp_path: Path
) -> None:
    """With what it is."""
    file = _file(tmp_path, "n,x\n1,1000.5\n2,2\n3,-\n")
    said = _replay(lockstep, suite, file)
    assert "accepted 2 refused 1" in said.stdout
    assert said.stderr == 'refused row 3: x: expected double, got text "-"\n'
    assert suite.taken == [(1, 1000.5), (2, 2.0)]


def test_events_may_begin_with_a_mark_of_their_encoding(suite: type[Suite], tmp_path: Path) -> None:
    """As some editors write it; it is none of the first event."""
    row = '\ufeff{"n": 1, "x": 1.5}\n'
    words = ["--directory", str(tmp_path), *suite.doors, "send", "N", "R"]
    for data, given in (("-", row.encode()), (row, b"")):
        said = CliRunner().invoke(app, [*words, data], input=given)
        assert (said.exit_code, said.stdout) == (0, "accepted 1 event\n"), said.output
    assert suite.taken == [(1, 1.5)] * 2
