"""CloudEvents over every way to follow a stream, read by the CloudEvents project's own reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.formats.json import JSONFormat

from lockstep.events import Attribute, AttributeType, OutputId, StreamSchema
from lockstep.mapping.cloudevents.envelope import timestamp
from lockstep_services.presenter.api import encode
from lockstep_services.presenter.forms import CloudEvents
from lockstep_services.presenter.models import Shown
from tests.unit.services.presenter.rows import ALLOWED, STREAM, send, shown, suite
from tests.unit.services.suite import Doors

ACCEPTED = {**ALLOWED, "Accept": "application/cloudevents+json"}
ASKED = "format=cloudevents"


def read(text: str | bytes) -> BaseCloudEvent:
    """CloudEventValidationError when it is none. What has to be there is looked at before: the
    reader fills in what is not."""
    assert {"specversion", "id", "source", "type"} <= set(json.loads(text))
    return JSONFormat().read(None, text)


def values(events: list[BaseCloudEvent]) -> list[Any]:
    """And makes sure of what all of them bear."""
    for event in events:
        assert event.get_specversion() == "1.0"
        assert (event.get_source(), event.get_subject()) == ("/apps/A", "Out")
        assert event.get_type() == "lockstep.A.Out"
        assert event.get_datacontenttype() == "application/json"
        time = event.get_time()
        assert time is not None
        assert time.tzinfo is not None
    return [event.get_data() for event in events]


async def polled(doors: Doors, query: str, **headers: str) -> tuple[list[BaseCloudEvent], str]:
    """The events of a poll, and behind which to go on."""
    url = f"{doors.url}{STREAM}/poll?{query}"
    async with doors.session.get(url, headers={**ALLOWED, **headers}) as response:
        assert response.status == 200
        assert response.content_type == "application/cloudevents-batch+json"
        events = [read(json.dumps(one)) for one in await response.json(content_type=None)]
        return events, response.headers["Lockstep-After"]


async def streamed(doors: Doors, query: str, count: int, headers: Any) -> list[tuple[str, Any]]:
    """The ids and data of server-sent events."""
    found: list[tuple[str, Any]] = []
    identity = ""
    async with doors.session.get(f"{doors.url}{STREAM}/sse?{query}", headers=headers) as response:
        async for line in response.content:
            if line.startswith(b"id: "):
                identity = line[4:].decode().strip()
            elif line.startswith(b"data: "):
                found.append((identity, read(line[6:])))
                if len(found) == count:
                    break
    return found


async def test_every_way_gives_the_same_events() -> None:
    """Long poll, server-sent events and WebSocket; behind the id of each all of them resume."""
    async with suite() as (doors, _):
        await send(doors, 1, 2, 3, text="é")
        await shown(doors, 3)
        events, after = await polled(doors, f"after=0.0&{ASKED}")
        assert values(events) == [{"v": number, "s": "é"} for number in (1, 2, 3)]
        assert after == events[-1].get_id()
        assert len({event.get_id() for event in events}) == 3
        for headers, query in ((ACCEPTED, "after=0.0"), (ALLOWED, f"after=0.0&{ASKED}")):
            heard = await streamed(doors, query, 3, headers)
            assert [one.get_attributes() for _, one in heard] == [
                event.get_attributes() for event in events
            ]
            assert [identity for identity, _ in heard] == [event.get_id() for event in events]
        second = events[1].get_id()
        for query, protocols in (
            (f"after={second}&{ASKED}", ["lockstep.rows"]),
            (f"after={second}", ["cloudevents.json"]),
        ):
            async with doors.session.ws_connect(
                f"{doors.url}{STREAM}/ws?{query}", headers=ALLOWED, protocols=protocols
            ) as client:
                assert client.protocol == protocols[0]
                event = read(await client.receive_str(timeout=30))
            assert event.get_attributes() == events[2].get_attributes()
        rest, _ = await polled(
            doors, f"after={second}", Accept="application/cloudevents-batch+json"
        )
        assert [event.get_id() for event in rest] == [events[2].get_id()]
        assert await polled(doors, f"after={after}&{ASKED}") == ([], after)


async def test_a_gap_is_an_event_of_its_own() -> None:
    """In front of what is left; its type says what it is."""
    async with suite(LOCKSTEP_PRESENTER__HISTORY_ROWS="2") as (doors, _):
        await send(doors, 1, 2, 3)
        await shown(doors, 3)
        gap, *events = (await polled(doors, f"after=0.0&{ASKED}"))[0]
        assert (gap.get_type(), gap.get_data()) == ("lockstep.gap", {"after": "0.0"})
        assert [one["v"] for one in values(events)] == [2, 3]
        (_, told), *_ = await streamed(doors, f"after=0.0&{ASKED}", 1, ALLOWED)
        assert told.get_type() == "lockstep.gap"
        async with doors.session.ws_connect(
            f"{doors.url}{STREAM}/ws?after=0.0&{ASKED}", headers=ALLOWED
        ) as client:
            assert read(await client.receive_str(timeout=30)).get_type() == "lockstep.gap"


async def test_a_format_that_there_is_not_is_refused() -> None:
    """With those that there are."""
    async with suite() as (doors, _):
        for way in ("poll", "sse"):
            url = f"{doors.url}{STREAM}/{way}?format=avro"
            async with doors.session.get(url, headers=ALLOWED) as response:
                assert response.status == 400
                assert "format=cloudevents" in (await response.json())["hint"]


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_772_359_200_123, "2026-03-01T10:00:00.123Z"),
        (2**62, None),
        (-(2**62), None),
    ],
)
def test_times_are_those_of_rfc_3339_or_none(at_ms: int, text: str | None) -> None:
    """An event's time may be any number."""
    assert timestamp(at_ms) == text
    schema = StreamSchema("Out", (Attribute("v", AttributeType.DOUBLE),))
    made = CloudEvents("A", schema, 7).row(Shown(OutputId(4, 1), at_ms, (float("nan"),)))
    event = read(encode(made))
    assert made.get("time") == text
    if text is not None:
        assert event.get_time() == datetime.fromtimestamp(at_ms / 1000, UTC)
    assert (event.get_id(), event.get_data()) == ("7.4.1", {"v": None})
