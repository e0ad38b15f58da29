"""Feeds and a suite's doors: what a stream takes, how a batch travels, what its answer says."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote

from lockstep.cli.refusals import RefusedError, detail
from lockstep.events.paths import stream_path
from lockstep.simulating import Columns, Found, Send, Sent, SimulationError
from lockstep.simulating.feeds import Event, Fetch
from lockstep.simulating.setups import DatabaseRows

NDJSON: Final = "application/x-ndjson"
MAX_BATCH_EVENTS: Final = 1_000
"""A receiver names at most so many refused events in one answer."""


class Post(Protocol):
    """Posts to a receiver's path; RefusedError, UnavailableError."""

    def __call__(self, path: str, body: bytes, headers: Mapping[str, str]) -> Awaitable[Any]:
        """The decoded answer."""


def stream_of(streams: Mapping[str, Columns], app: str, stream: str) -> Columns:
    """The attributes of one; SimulationError names those that there are."""
    if stream not in streams:
        raise SimulationError(
            f"{app} takes no events in {stream!r}", hint=f"it does in {', '.join(streams)}"
        )
    return streams[stream]


def sending(app: str, post: Post) -> Send:
    """Each event is a chunk of its own, so one that does not fit is refused alone."""

    async def send(stream: str, events: Sequence[Event], key: str) -> Sent:
        path = f"{stream_path(app, stream)}/events"
        body = "\n".join(json.dumps(one) for one in events).encode()
        try:
            answer = await post(path, body, {"Content-Type": NDJSON, "Idempotency-Key": key})
        except RefusedError as error:
            if error.refused_rows:
                return Sent(0, len(events), detail(error.refused_rows[-1]))
            raise
        found = answer.get("refused") or ()
        reason = detail(found[-1]) if found else ""
        return Sent(int(answer["accepted"]), int(answer["refused_count"]), reason)

    return send


def fetching(post: Post, told: Callable[[str], object]) -> Fetch:
    """Asks a receiver for rows of a datasource. `told` hears when there are more than came."""

    async def fetch(wanted: DatabaseRows, max_rows: int) -> Found:
        path = f"/v1/datasources/{quote(wanted.datasource, safe='')}/rows"
        body = {"table": wanted.table, "select": wanted.select, "max_rows": max_rows}
        headers = {"Content-Type": "application/json"}
        answer = await post(path, json.dumps(body).encode(), headers)
        if answer["is_cut"]:
            told(f"{wanted.datasource} has more rows: the first {len(answer['rows'])} are sent")
        return Found(answer["columns"], answer["rows"])

    return fetch
