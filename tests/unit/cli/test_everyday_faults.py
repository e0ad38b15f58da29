"""Files, words and addresses that are not as they should be: a message, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
from typer.testing import Result

from lockstep.cli.addresses import ADDRESSES_FILE, SESSION_FILE, Addresses, suite_process
from tests.unit.cli.conftest import Lockstep

NOWHERE: Final = "http://127.0.0.1:1"
"""Nobody listens there."""
APP: Final = "@app:name('A')\ndefine stream S (a int);\nfrom S select a insert into O;\n"
BYTES: Final = b"\xff\xfe\x00"
HALF: Final = "\udcff"
"""As Python has a byte of the command line that is not UTF-8."""
DOORS: Final = f'"receiver": "{NOWHERE}", "presenter": "{NOWHERE}", "coordinator": "{NOWHERE}"'


def told(done: Result, code: int, message: str) -> None:
    """It ended with that code and that message, and not by an error that nobody had expected."""
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.stderr
    assert message in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    "content",
    ["", '{"receiver', "[1]", "null", "\udcff", f'{{{DOORS}, "tls": {{"x": 1}}}}'],
    ids=["empty", "cut off", "a list", "null", "bytes", "other members"],
)
def test_broken_addresses(tmp_path: Path, lockstep: Lockstep, content: str) -> None:
    """The file is named, with what to do; a suite that starts is not kept from writing it anew."""
    (tmp_path / ADDRESSES_FILE).write_text(content, errors="surrogateescape")
    done = lockstep("--directory", tmp_path, "list")
    told(done, 2, f"{tmp_path / ADDRESSES_FILE} cannot be read hint: remove it")
    assert suite_process(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{}", "7", '{"coordinator": "x"}'])
def test_a_broken_session(tmp_path: Path, lockstep: Lockstep, content: str) -> None:
    """Likewise."""
    (tmp_path / SESSION_FILE).write_text(content)
    for command in ("list", "logout"):
        done = lockstep("--directory", tmp_path, "--url", NOWHERE, command)
        told(done, 2, f"{SESSION_FILE} cannot be read hint: remove it")


def test_files_that_cannot_be_opened(tmp_path: Path, lockstep: Lockstep) -> None:
    """A folder stands here for another user's file."""
    (tmp_path / ADDRESSES_FILE).mkdir()
    told(lockstep("--directory", tmp_path, "list"), 2, f"{ADDRESSES_FILE}: Is a directory")


def test_a_file_in_the_place_of_the_folder(tmp_path: Path, lockstep: Lockstep) -> None:
    """Nothing is kept there, and nothing can be."""
    file = tmp_path / "file"
    file.touch()
    told(lockstep("--directory", file, "list"), 3, f"no suite is running in {file}")
    told(lockstep("--directory", file, "--url", NOWHERE, "list"), 3, "connection refused")
    told(lockstep("--directory", file, "up"), 2, f"{file}: File exists")


@pytest.mark.parametrize(
    "command",
    [
        ("samples", "--out", "{}/out"),
        ("observe", "{}/out"),
        ("import", "app.siddhi", "--out", "{}/out"),
        ("--directory", "{}/out", "up"),
    ],
    ids=lambda command: str(command[0]),
)
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lockstep: Lockstep, command: Sequence[str]
) -> None:
    """It is named, with what the system says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text(APP)
    (tmp_path / "file").touch()
    done = lockstep(*(word.format(tmp_path / "file") for word in command))
    told(done, 2, f"error: {tmp_path}/file/out")
    assert done.stderr.endswith(": Not a directory\n")


def test_a_backtest_of_what_is_no_text(tmp_path: Path, lockstep: Lockstep) -> None:
    """As other commands have it."""
    (tmp_path / "app.siddhi").write_bytes(BYTES)
    told(lockstep("backtest", tmp_path / "app.siddhi"), 2, "app.siddhi is no text in UTF-8")


@pytest.mark.parametrize(
    "command",
    [
        ("send", HALF, "S", "{}"),
        ("send", "A", "S", HALF),
        ("send", "A", "S", "{}", "--id", HALF),
        ("status", HALF),
        ("undeploy", HALF),
        ("drain", HALF),
        ("users", "remove", HALF),
        ("--token", HALF, "list"),
    ],
    ids=lambda command: " ".join(command).encode(errors="replace").decode(),
)
def test_words_that_are_no_text(lockstep: Lockstep, command: Sequence[str]) -> None:
    """Said before anybody is asked."""
    told(lockstep("--url", NOWHERE, *command), 2, "is no text in UTF-8")


@pytest.mark.parametrize("url", ["host:1", "http://a..b", "http://", "nothing"])
def test_what_is_no_address(lockstep: Lockstep, tmp_path: Path, url: str) -> None:
    """By either client."""
    app = tmp_path / "app.siddhi"
    app.write_text(APP)
    for command in (("list",), ("deploy", app)):
        told(lockstep("--url", url, *command), 3, "no address of the form http://host:port")


class Other(BaseHTTPRequestHandler):
    """No suite: `answer` is its status, headers and body, whatever it is asked."""

    answer: ClassVar[tuple[int, Mapping[str, str], bytes]]

    def do_GET(self) -> None:
        """The answer."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *args: Any, **named: Any) -> None:
        """Says nothing."""


@pytest.fixture
def other() -> Iterator[str]:
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((302, {"Location": "https://suite.example/login?state=secret"}, b""), "leads to https:"),
        ((301, {"Location": "http://["}, b""), "leads to http://["),
        ((302, {}, b""), "leads to nowhere"),
        ((200, {"Content-Type": "text/html"}, b"<html>Log in</html>"), "what answers at"),
        ((200, {"Content-Type": "application/json"}, b"{}"), "what answers at"),
        ((200, {"Content-Type": "application/json"}, b'{"hello": 1}'), "what answers at"),
        ((200, {"Content-Type": "application/json"}, b"[1]"), "what answers at"),
        ((200, {}, b""), "what answers at"),
    ],
    ids=[
        "redirect",
        "broken redirect",
        "redirect to nowhere",
        "page",
        "nothing in it",
        "another object",
        "list",
        "",
    ],
)
@pytest.mark.parametrize("command", ["list", "deploy", "send", "status", "tail"])
def test_who_answers_is_no_suite(
    tmp_path: Path,
    lockstep: Lockstep,
    other: str,
    answer: tuple[int, Mapping[str, str], bytes],
    message: str,
    command: str,
) -> None:
    """It is said, with who was asked; where a login page leads from there stays out of logs."""
    app = tmp_path / "app.siddhi"
    app.write_text(APP)
    more = {"deploy": (app,), "send": ("A", "S", "{}"), "tail": ("A", "S")}.get(command, ())
    Other.answer = answer
    done = lockstep("--url", other, command, *more)
    told(done, 3, message)
    assert other in done.stderr.replace("\n", "")
    assert "secret" not in done.stderr


def test_an_answer_without_content_is_one(lockstep: Lockstep, other: str) -> None:
    """Where the status says so."""
    Other.answer = (204, {}, b"")
    assert lockstep("--url", other, "undeploy", "A").exit_code == 0


def test_an_answer_of_something_else_is_not_shown_as_one(lockstep: Lockstep, other: str) -> None:
    """Also for programs."""
    Other.answer = (200, {}, b"{}")
    done = lockstep("--url", other, "send", "A", "S", "{}", "--json")
    told(done, 3, "is not Lockstep")
    assert not done.stdout


def test_a_password_that_is_no_text(tmp_path: Path, lockstep: Lockstep) -> None:
    """The file is named, and not what stands in it."""
    file = tmp_path / "password"
    file.write_bytes(BYTES)
    done = lockstep("--url", NOWHERE, "login", "ann", "--password-file", file)
    told(done, 2, f"{file} is no text in UTF-8")


def test_a_test_with_a_mark_at_the_beginning(tmp_path: Path, lockstep: Lockstep) -> None:
    """As editors on Windows write it."""
    file = tmp_path / "app.siddhi"
    named = APP.replace("from S", "@info(name='q') from S")
    file.write_text(f"{named}\n--- test: one\nS 1 7\n  => q: C 1[7]\n", "utf-8-sig")
    done = lockstep("test", file)
    assert done.exit_code == 0, done.stdout + done.stderr


def shell(folder: Path, words: Sequence[str], **named: Any) -> subprocess.CompletedProcess[str]:
    """The command as a process, with outputs of its own."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    env |= named.pop("env", {})
    command = [sys.executable, "-c", "from lockstep.cli import main; main()", *words]
    return subprocess.run(
        command, check=False, text=True, cwd=folder, env=env, stderr=subprocess.PIPE, **named
    )


@pytest.mark.processes
@pytest.mark.parametrize("words", [("samples",), ("--help",), ("list", "--help"), ("--version",)])
def test_an_output_on_a_full_disk(tmp_path: Path, words: Sequence[str]) -> None:
    """One line says so, and Python adds nothing when the process ends."""
    with Path("/dev/full").open("w") as full:
        done = shell(tmp_path, words, stdout=full)
    assert (done.returncode, done.stderr) == (
        2, "error: standard output: No space left on device\n",
    )  # fmt: skip


@pytest.mark.processes
@pytest.mark.parametrize(
    "env", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}], ids=str
)
def test_a_terminal_of_few_characters(tmp_path: Path, env: Mapping[str, str]) -> None:
    """What it lacks is written in another way."""
    (tmp_path / "app.siddhi").write_text(APP.replace("'A'", "'▁é'"), "utf-8")
    words = ("validate", "app.siddhi")
    done = shell(tmp_path, words, env=env, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "app.siddhi: ok (\\u2581\\xe9)\n"


@pytest.mark.processes
def test_the_suite_in_a_place_without_room(tmp_path: Path) -> None:
    """`run` says which file is in its way."""
    (tmp_path / "file").touch()
    done = shell(tmp_path, ("--directory", "file", "run", "--port", "0"), stdout=subprocess.PIPE)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "Not a directory" in done.stderr


@pytest.mark.processes
def test_the_development_mode_keeps_the_traceback(tmp_path: Path) -> None:
    """For who looks for a defect."""
    (tmp_path / ADDRESSES_FILE).mkdir()
    words = ("--directory", str(tmp_path), "list")
    done = shell(tmp_path, words, env={"PYTHONDEVMODE": "1"}, stdout=subprocess.PIPE)
    assert "IsADirectoryError" in done.stderr
    assert "Traceback" in done.stderr


def test_addresses_that_are_whole_are_read(tmp_path: Path, lockstep: Lockstep) -> None:
    """The tables above refuse what is broken, and nothing else."""
    Addresses(NOWHERE, NOWHERE, NOWHERE, "token").write(tmp_path)
    told(lockstep("--directory", tmp_path, "list"), 3, "connection refused")
    assert suite_process(tmp_path) == os.getpid()
