"""AsyncAPI documents: of the form that AsyncAPI 3.0 asks for, whole, and true of what goes over the
doors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from asyncapi3.models.asyncapi import AsyncAPI3
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from lockstep.cli.command import app as command
from lockstep.plan import build
from lockstep.siddhiql import check
from lockstep_services.coordinator.asyncapi import Doors, asyncapi_of
from lockstep_services.coordinator.asyncapi_route import nats_hosts
from tests.unit.services.presenter.rows import STREAM, send, shown, suite
from tests.unit.services.suite import CLUSTER, bearer

TEXT = """
@app:name('Types')
define stream In (s string, i int, l long, f float, d double, b bool, o object);
@sink(type='log') define stream Out (s string, i int);
define stream `odd name` (v int);
from In select s, i insert into Out;
from `odd name` select v insert into Odd;
"""
DOORS = Doors(
    receivers=["http://10.0.0.2:8080", "http://10.0.0.1:8080"],
    presenters=["https://suite.example/live"],
    nats=["nats.example:4222"],
)


def document(doors: Doors = DOORS) -> dict[str, Any]:
    """Of an app with every type."""
    return asyncapi_of(build(check(TEXT)), "abc", doors)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "$ref":
                yield one
            else:
                yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def _resolved(document: dict[str, Any], reference: str) -> Any:
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[unquote(part)]
    return found


def judged(document: dict[str, Any]) -> None:
    """By the model of AsyncAPI 3.0, which takes no key that it does not know; and no reference
    leads nowhere."""
    AsyncAPI3.model_validate(document)
    references = list(_references(document))
    assert references
    for reference in references:
        assert _resolved(document, reference), reference
    for operation in document["operations"].values():
        assert operation["action"] in ("send", "receive")
    for message in document["components"]["messages"].values():
        Draft7Validator.check_schema(message["payload"])


def payload(document: dict[str, Any], message: str) -> Draft7Validator:
    """Judges what a message carries."""
    schema = {**document, **document["components"]["messages"][message]["payload"]}
    return Draft7Validator(schema)


def test_it_is_what_asyncapi_asks_for() -> None:
    """With all doors, with none, and with only some."""
    judged(document())
    judged(document(Doors(presenters=["http://a:1"])))
    assert document(Doors())["channels"] == {}
    AsyncAPI3.model_validate(document(Doors()))
    broken = document()
    broken["channels"]["take-In-http"]["adress"] = "/"
    with pytest.raises(ValueError, match="adress"):
        AsyncAPI3.model_validate(broken)


def test_servers_are_the_advertised_addresses() -> None:
    """A presenter is there by HTTP and by WebSocket; passwords are left out."""
    servers = document()["servers"]
    assert {name: (one["protocol"], one["host"]) for name, one in servers.items()} == {
        "receiver-1": ("http", "10.0.0.1:8080"),
        "receiver-2": ("http", "10.0.0.2:8080"),
        "presenter-1": ("https", "suite.example"),
        "sockets-1": ("wss", "suite.example"),
        "nats-1": ("nats", "nats.example:4222"),
    }
    assert servers["sockets-1"]["pathname"] == "/live"
    assert nats_hosts("nats://u:p@a:4222, tls://b:4223,c") == ("a:4222", "b:4223", "c")


def test_channels_are_the_doors_of_each_stream() -> None:
    """Routes and subjects, with names as they have to be written there."""
    found = document()
    addresses = {name: one["address"] for name, one in found["channels"].items()}
    assert addresses["take-In-http"] == "/v1/apps/Types/streams/In/events"
    assert addresses["take-In-nats"] == "ingress.Types.In"
    assert addresses["take-odd-20name-http"] == "/v1/apps/Types/streams/odd%20name/events"
    assert addresses["take-odd-20name-nats"] == "ingress.Types.odd%20name"
    assert addresses["give-Out-sse"] == "/v1/apps/Types/streams/Out/sse"
    assert addresses["give-Out-ws"] == "/v1/apps/Types/streams/Out/ws"
    assert addresses["give-Out-topic"] == "presenter.Types.Out"
    assert "take-Out-http" in addresses
    assert found["operations"]["take-In-http"]["action"] == "receive"
    assert found["operations"]["give-Out-ws"]["action"] == "send"


EVENT = {"s": "x", "i": 1, "l": 2**40, "f": 0.5, "d": 2, "b": True, "o": {"any": []}}


@pytest.mark.parametrize(
    ("body", "is_taken"),
    [
        (EVENT, True),
        (dict.fromkeys(EVENT), True),
        ({**EVENT, "_timestamp": 5, "_id": "a"}, True),
        ([*EVENT.values()], True),
        ([EVENT, [*EVENT.values()]], True),
        ({**EVENT, "i": 2**31}, False),
        ({**EVENT, "s": 1}, False),
        ({"s": "x"}, False),
        ([1, 2], False),
        ([], False),
    ],
)
def test_what_a_stream_takes_is_said_by_its_schema(body: Any, is_taken: bool) -> None:
    """Null everywhere; nothing missing; numbers in the range of their type."""
    assert payload(document(), "In-events").is_valid(body) is is_taken


async def test_what_goes_over_the_doors_is_as_the_document_says() -> None:
    """Of a running suite: its own addresses, rows and CloudEvents."""
    async with suite(LOCKSTEP_BUS__KIND="memory") as (doors, _):
        shown_to = bearer(CLUSTER)
        await send(doors, 1)
        await shown(doors, 1)
        status, found = await doors.ask(shown_to, "GET", "/v1/apps/A/asyncapi.json")
        assert status == 200
        judged(found)
        assert {one["host"] for one in found["servers"].values()} == {urlsplit(doors.url).netloc}
        assert found["channels"]["give-Out-ws"]["address"] == f"{STREAM}/ws"
        for query, message in (("", "Out-row"), ("&format=cloudevents", "Out-cloudevent")):
            address = found["channels"]["give-Out-ws"]["address"]
            async with doors.session.ws_connect(
                f"{doors.url}{address}?after=0.0{query}", headers={"Authorization": shown_to}
            ) as client:
                payload(found, message).validate(await client.receive_json(timeout=30))
        asked = ["--url", doors.url, "--token", CLUSTER, "asyncapi", "A"]
        printed = await asyncio.to_thread(CliRunner().invoke, command, asked)
        assert (printed.exit_code, json.loads(printed.stdout)) == (0, found)
        status, _ = await doors.ask(None, "GET", "/v1/apps/A/asyncapi.json")
        assert status == 401


def test_a_stream_whose_name_is_too_long_for_the_bus_has_its_other_doors() -> None:
    """And nothing is missing for the app's other streams."""
    long = "s" * 250
    text = f"define stream {long} (v int); from {long} select v insert into O;"
    made = asyncapi_of(build(check(text)), "abc", DOORS)
    judged(made)
    addresses = {one["address"] for one in made["channels"].values()}
    assert any(long in one for one in addresses)
    assert not any(one.startswith("ingress.") and long in one for one in addresses)
