"""Where the command looks for a suite, and several apps in one call."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from lockstep.cli.addresses import DOORS, Addresses, find_addresses
from lockstep.events import UnavailableError
from lockstep.tls import TlsFiles

TOKEN = "Bearer shibboleth"


class Suite(BaseHTTPRequestHandler):
    """Deploys every text but those that say `refuse me`, for who has the token."""

    deployed: list[str]

    def do_PUT(self) -> None:
        """The coordinator's deployment."""
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"]
        if self.headers["Authorization"] != TOKEN:
            self._answer(401, {"detail": "a bearer token is needed"})
        elif "refuse me" in text:
            self._answer(400, {"detail": "this is no app"})
        else:
            self.deployed.append(text.strip())
            self._answer(200, {"app": text.strip(), "version": "0123", "units": 1})

    def log_message(self, *args: Any, **named: Any) -> None:
        """Says nothing."""

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def url() -> Iterator[str]:
    """Of one address for the whole suite."""
    Suite.deployed = []
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
def files(tmp_path: Path) -> list[Path]:
    """Three texts; the second one is refused."""
    paths = []
    for number, text in enumerate(("One", "refuse me", "Three")):
        paths.append(tmp_path / f"{number}.siddhi")
        paths[-1].write_text(text)
    (tmp_path / "token").write_text("shibboleth\n")
    return paths


def test_one_url_stands_for_all_services(tmp_path: Path) -> None:
    """What a suite of one's own left in the directory is not mixed with it; what a service is given
    beside it wins."""
    Addresses("http://a", "http://b", "http://c", "old").write(tmp_path)
    assert find_addresses(tmp_path).token == "old"
    there = find_addresses(tmp_path, url="http://suite:8280/", presenter="http://page")
    assert there == Addresses("http://suite:8280", "http://page", "http://suite:8280", None)
    with pytest.raises(UnavailableError, match="no address for receiver, presenter, coordinator"):
        find_addresses(tmp_path / "nothing")


def test_several_apps_in_one_call(
    lockstep: Callable[..., Result], url: str, files: list[Path]
) -> None:
    """Each is said; with --json they are a list, and one alone is what it was."""
    one, _, three = files
    with_token = ("--url", url, "--token-file", files[0].parent / "token", "deploy", "--no-wait")
    said = lockstep(*with_token, one, three)
    assert said.exit_code == 0, said.stderr
    assert said.stdout.splitlines() == ["deployed One version 0123", "deployed Three version 0123"]
    assert Suite.deployed == ["One", "Three"]
    one.write_text("\ufeffOne", "utf-8")  # as editors on Windows write it
    both = json.loads(lockstep(*with_token, "--json", one, three).stdout)
    assert [each["app"] for each in both] == ["One", "Three"]
    assert json.loads(lockstep(*with_token, "--json", one).stdout)["app"] == "One"


def test_the_first_refused_one_ends_it(
    lockstep: Callable[..., Result], url: str, files: list[Path]
) -> None:
    """Those before it stay deployed, and the message names the file."""
    said = lockstep("--url", url, "--token", "shibboleth", "deploy", "--no-wait", *files)
    assert said.exit_code == 2
    assert said.stdout.splitlines() == ["deployed One version 0123"]
    assert f"{files[1]} is not deployed" in said.stderr
    assert "this is no app" in said.stderr
    assert Suite.deployed == ["One"]
    told = lockstep("--url", url, "--token", "shibboleth", "deploy", "--no-wait", "--json", *files)
    assert told.exit_code == 2
    assert [each["app"] for each in json.loads(told.stdout)] == ["One"]
    assert "this is no app" in told.stderr


def test_the_token_of_the_folder_goes_to_its_suite_alone(tmp_path: Path) -> None:
    """As do the certificates: with the address of any other host, neither is taken."""
    tls = TlsFiles("/ca.pem")
    Addresses("http://a", "http://b", "http://c", "local", tls).write(tmp_path)
    same = find_addresses(tmp_path, receiver="http://a/", presenter="http://a")
    assert (same.token, same.tls) == ("local", tls)
    for door in DOORS:
        given: dict[str, Any] = {door: "https://elsewhere"}
        there = find_addresses(tmp_path, **given)
        assert (there.token, there.tls) == (None, TlsFiles())
        assert find_addresses(tmp_path, **given, token="own").token == "own"


@pytest.mark.parametrize("token", ["shib\nboleth", "shibboleth\x00x"])
def test_a_token_with_a_line_end_is_refused_and_not_told(
    lockstep: Callable[..., Result], url: str, token: str
) -> None:
    """Blanks around it, as files have them, do no harm."""
    said = lockstep("--url", url, "--token", token, "status")
    assert said.exit_code == 2
    assert "the token has a line end" in said.stderr
    assert "boleth" not in said.stderr


def test_blanks_around_a_token_do_no_harm(
    lockstep: Callable[..., Result], url: str, files: list[Path]
) -> None:
    """A shell's variable may end in a line end."""
    said = lockstep("--url", url, "--token", "shibboleth\n", "deploy", "--no-wait", files[0])
    assert said.exit_code == 0, said.stderr
