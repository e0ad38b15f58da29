"""A server that speaks S3 and SQS, in a process of its own: `python -m tests.s3.server` is told on
its input when to answer, when not, and which answer to lose. What it holds outlives `stop`. It
refuses whoever does not sign with its key."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from socket import SHUT_RDWR, SO_REUSEADDR, SOL_SOCKET, socket
from threading import Thread
from time import sleep
from typing import IO, Any, Final

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

ACCESS_KEY: Final = "the-access-key"
SECRET_KEY: Final = "the-secret-key"
BUCKET: Final = "lake"
HOST: Final = "127.0.0.1"
PATIENCE_S: Final = 30.0
PAUSE_S: Final = 0.02

Environ = dict[str, Any]


class S3Server:
    """As tests hold it: each call returns when the process has done it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.prefix = "archive"
        self.port = int(self._told("start"))

    @property
    def url(self) -> str:
        """For clients."""
        return f"http://{HOST}:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """What a service needs to archive here."""
        return {
            "LOCKSTEP_ARCHIVE__FOLDER": f"s3://{BUCKET}/{self.prefix}",
            "LOCKSTEP_ARCHIVE__S3_ENDPOINT": self.url,
            "LOCKSTEP_ARCHIVE__S3_REGION": "us-east-1",
            "LOCKSTEP_ARCHIVE__S3_ACCESS_KEY": ACCESS_KEY,
            "LOCKSTEP_ARCHIVE__S3_SECRET_KEY": SECRET_KEY,
        }

    def client(self, service: str = "s3") -> Any:
        """Another one than ours."""
        return boto3.client(
            service, endpoint_url=self.url, region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY,
        )  # fmt: skip

    def start(self) -> None:
        """Takes requests, where it did before."""
        self._told("start")

    def stop(self) -> None:
        """Connections are refused from now on."""
        self._told("stop")

    def lose_answer(self, part: str) -> None:
        """Of the next write of a commit to a path with this part, or of the next operation of this
        name: it is done, and not answered."""
        self._told(f"lose {part}")

    @property
    def lost(self) -> int:
        """How many answers were."""
        return int(self._told("lost"))

    @property
    def refused(self) -> int:
        """How many requests had a wrong key."""
        return int(self._told("refused"))

    def _told(self, what: str) -> str:
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        into.write(f"{what}\n")
        into.flush()
        return out.readline().strip()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """With an empty bucket."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.s3.server"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            server = S3Server(process)
            server.client().create_bucket(Bucket=BUCKET)
            yield server
        finally:
            process.kill()


# --- within the process ----------------------------------------------------------------------


class _Silent(WSGIRequestHandler):
    """Says nothing of what was asked."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002
        """Not at all."""


def _listening(port: int) -> socket:
    """A port that was left just now may be taken for a moment, by connections that are ending."""
    left = PATIENCE_S
    while True:
        found = socket()
        found.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
            found.listen()
            return found
        except OSError:
            found.close()
            left -= PAUSE_S
            if left <= 0:
                raise
            sleep(PAUSE_S)


@dataclass
class _Answering:
    port: int = 0
    refused: int = 0
    lost: int = 0
    losing: str = ""
    application: Any = field(
        default_factory=lambda: DomainDispatcherApplication(create_backend_app)
    )
    server: BaseWSGIServer | None = None

    def start(self) -> int:
        with _listening(self.port) as found:
            self.port = found.getsockname()[1]
            self.server = make_server(
                HOST, self.port, self._answer, threaded=True, request_handler=_Silent,
                fd=found.fileno(),
            )  # fmt: skip
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self.port

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()

    def _answer(self, environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        if f"Credential={ACCESS_KEY}/" not in environ.get("HTTP_AUTHORIZATION", ""):
            self.refused += 1
            start("403 Forbidden", [("Content-Length", "0")])
            return []
        answer: Iterable[bytes] = self.application(environ, start)
        path = environ["PATH_INFO"]
        is_commit = environ["REQUEST_METHOD"] == "PUT" and path.endswith("json")
        asked = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")[2]
        if self.losing and (self.losing == asked or (is_commit and self.losing in path)):
            self.losing = ""
            self.lost += 1
            environ["werkzeug.socket"].shutdown(SHUT_RDWR)
            raise ConnectionError("the answer is lost")
        return answer

    def told(self, what: str, argument: str) -> object:
        """The answer to a line."""
        if what == "lose":
            self.losing = argument
        elif what in ("refused", "lost"):
            return getattr(self, what)
        else:
            return getattr(self, what)()
        return ""


def main(lines: IO[str]) -> None:
    """Until they end. A client that dies in the midst of a request is nothing to tell."""
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    answering = _Answering()
    for line in lines:
        what, _, argument = line.strip().partition(" ")
        print(answering.told(what, argument), flush=True)


if __name__ == "__main__":
    main(sys.stdin)
