"""One request to one receiver, and its answer as a value or an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec

from lockstep.client.batches import Batch
from lockstep.client.errors import EventRefusedError, NotAcceptedError, PushedBackError
from lockstep.client.receipts import Receipt
from lockstep.events import UnavailableError
from lockstep.events.unreached import why_unreached

AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`receipt` is None when every event was refused; `refused` by index within the batch."""

    receipt: Receipt | None
    refused: Mapping[int, EventRefusedError]


class Poster:
    """Posts batches of one app."""

    def __init__(self, session: aiohttp.ClientSession, app: str) -> None:
        self._session = session
        self._app = app

    async def post(self, url: str, batch: Batch) -> Answer:
        """Errors: UnavailableError (again, with the same key), NotAcceptedError."""
        headers = {"Content-Type": batch.content_type, "Idempotency-Key": batch.key}
        try:
            address = f"{url}{batch.path(self._app)}"
            async with self._session.post(address, data=batch.body, headers=headers) as response:
                payload = await response.read()
                status, said = response.status, response.headers
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnavailableError(why_unreached(error), where=url) from error
        except ValueError as error:
            raise NotAcceptedError(
                "the request cannot be sent", where=url, hint="see the app's name", status=0
            ) from error
        try:
            return _answer(status, said, payload, batch, url)
        except (ValueError, TypeError, KeyError) as error:
            raise _strange(url, status) from error


def _answer(
    status: int, headers: Mapping[str, str], payload: bytes, batch: Batch, url: str
) -> Answer:
    body = _decoded(payload)
    detail = str(body.get("detail") or body.get("title") or f"HTTP {status}")
    if status in AGAIN:
        raise PushedBackError(detail, where=url, retry_after_s=_seconds(headers))
    refused = _refused(body.get("refused") or body.get("errors") or (), batch)
    if int(body.get("refused_count") or 0) > len(refused):
        message = f"names {len(refused)} of {body['refused_count']} refused events"
        raise NotAcceptedError(message, where=url, hint="send smaller batches", status=status)
    if status >= 400:
        if status == 400 and refused:
            return Answer(None, refused)
        raise NotAcceptedError(detail, where=url, hint=body.get("hint"), status=status)
    if "first_position" not in body or "last_position" not in body:
        raise _strange(url, status)
    receipt = Receipt(
        int(body["first_position"]), int(body["last_position"]), bool(body.get("duplicate"))
    )
    return Answer(receipt, refused)


def _strange(url: str, status: int) -> NotAcceptedError:
    return NotAcceptedError(
        "the answer is not a receiver's", where=url, hint="is the address right?", status=status
    )


def _refused(found: Any, batch: Batch) -> dict[int, EventRefusedError]:
    refused: dict[int, EventRefusedError] = {}
    for one in found:
        if batch.items[0].chunk_of is not None:
            return {0: EventRefusedError(_text(one), where=batch.items[0].chunk_of)}
        if isinstance(one, dict) and isinstance(one.get("line"), int):
            errors = "; ".join(_text(each) for each in one.get("errors") or ())
            refused[one["line"] - 1] = EventRefusedError(errors or "refused")
    return refused


def _text(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    message, field = str(error.get("message")), error.get("field")
    return message if field is None else f"{field}: {message}"


def _decoded(payload: bytes) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        body = None
    return body if isinstance(body, dict) else {"detail": payload[:200].decode(errors="replace")}


def _seconds(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "")
    return float(text) if text.replace(".", "", 1).isdigit() else None
