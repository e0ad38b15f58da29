"""A client of one service of Amazon, or of whoever speaks as it does. It blocks: for threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

REGION: Final = "us-east-1"
CONNECT_S: Final = 5.0
ANSWER_S: Final = 30.0
"""Longer than any service waits for a message."""


class RefusedError(OSError):
    """The service refuses a request; `code` is its own word for why."""

    def __init__(self, service: str, code: str, text: str) -> None:
        super().__init__(f"{service}: {code}: {text}")
        self.code = code


_OPENING: Final = Lock()
"""Of clients: the library makes one at a time."""


@cache
def _session() -> Any:
    """It reads what a service is like once, which takes a moment."""
    return get_session()


@dataclass(frozen=True, slots=True)
class AwsPlace:
    """A service: where it is, and who one is there; without keys the machine's role, profile or
    environment. `endpoint`: empty for Amazon's own."""

    service: str
    region: str = REGION
    endpoint: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    ca_file: str = ""


class AwsClient:
    """Connects when first used. Each request is made once: whoever asks tries again."""

    def __init__(self, place: AwsPlace) -> None:
        self._place = place
        self._client: Any = None

    def ask(self, operation: str, **parameters: Any) -> Any:
        """The answer of an operation by its name in Python (`send_message`). OSError: it was not
        reached; RefusedError: it does not want to."""
        try:
            with _OPENING:
                client = self._client = self._client or self._made()
            return getattr(client, operation)(**parameters)
        except ClientError as error:
            told = error.response.get("Error", {})
            code, text = str(told.get("Code", "")), str(told.get("Message", ""))
            raise RefusedError(self._place.service, code, text) from error
        except BotoCoreError as error:
            raise OSError(f"{self._place.service}: {error}") from error

    def content(self, operation: str, **parameters: Any) -> bytes:
        """What an answer brings behind its head, whole; errors as of `ask`."""
        body = self.ask(operation, **parameters)["Body"]
        try:
            found: bytes = body.read()
        except BotoCoreError as error:  # the connection has ended in the midst of it
            raise OSError(f"{self._place.service}: {error}") from error
        return found

    def close(self) -> None:
        """The next request connects anew; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _made(self) -> Any:
        try:
            return self._opened()
        except ValueError as error:  # of a place, and of no request
            raise OSError(f"{self._place.service}: {error}") from error

    def _opened(self) -> Any:
        place = self._place
        return _session().create_client(
            place.service,
            region_name=place.region,
            endpoint_url=place.endpoint or None,
            aws_access_key_id=place.access_key or None,
            aws_secret_access_key=place.secret_key or None,
            verify=place.ca_file or None,
            config=Config(
                connect_timeout=CONNECT_S,
                read_timeout=ANSWER_S,
                retries={"total_max_attempts": 1, "mode": "standard"},
                # As other stores have it: buckets in the path, and no sums behind a content.
                s3={"addressing_style": "path"} if place.endpoint else None,
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )
