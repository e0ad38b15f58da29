"""Whose a path at the receivers' door is, and what of a request is for no app."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from lockstep.connectors.endpoints import CREDENTIALS, without_credentials
from lockstep.control import AppView
from lockstep.events import Life
from lockstep.mapping import check_connectors
from lockstep.plan.build import build
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.store import Deployment, Origin
from lockstep_services.receiver.decode import JSON
from lockstep_services.receiver.routes import _sending
from lockstep_services.receiver.sources import SourceBook
from tests.unit.siddhiql.refusals import says

ORDERS = (
    "@app:name('{name}') @source(type='http', receiver.url='http://0.0.0.0:8006/orders',"
    " @map(type='json')) define stream S (v int); from S select v insert into Out;"
)


def view(name: str, since_ms: int, life: int) -> AppView:
    """A deployed app whose logs began at a time, as its so-and-so-many-th text."""
    text = ORDERS.format(name=name)
    origin = Origin(logs_since_ms=since_ms)
    deployment = Deployment(name, text, "1", Life(since_ms, life), 1, 0, origin=origin)
    return AppView(deployment, build(check(text)))


def test_a_path_stays_with_whoever_had_it_first() -> None:
    """Whatever the apps are called, and though the first one has got new texts since."""
    views = [view("AAA", 2_000, 1), view("Shop", 1_000, 7)]
    catalogue: Any = SimpleNamespace(views=views, changes=1, get=lambda _: None)
    found = SourceBook(catalogue).at_path("/orders")
    assert found is not None
    assert found.app == "Shop"


def test_who_sends_shows_that_to_no_app() -> None:
    """Other headers are an app's to take, in any case of letters."""
    headers = {
        "Authorization": "Bearer x", "PROXY-Authorization": "y", "cookie": "lockstep_token=z",
        "Sec-WebSocket-Protocol": "lockstep.bearer.w", "X-Room": "kitchen",
    }  # fmt: skip
    found = _sending(make_mocked_request("POST", "/Shop/S", headers=headers), JSON)
    assert found.properties is not None
    assert dict(found.properties) == {"X-Room": "kitchen"}
    assert found.properties["x-room"] == "kitchen"
    assert without_credentials({"authorization": "Bearer x", "room": "a"}) == [("room", "a")]


@pytest.mark.parametrize("header", sorted(CREDENTIALS))
@pytest.mark.parametrize(
    "where",
    [
        "type='http'",
        "type='grpc', receiver.url='grpc://h:1/org.wso2.grpc.EventService/consume'",
    ],
)
def test_an_app_that_asks_for_it_is_refused(where: str, header: str) -> None:
    """When it is deployed. Elsewhere a header of that name is one like any other."""
    text = (
        "@source({where}, @map(type='json',"
        " @attributes(v='v', h='trp:" + header.title() + "'))) define stream S (v int, h string);"
    )
    with pytest.raises(SiddhiQLError) as refused:
        check_connectors(check(text.format(where=where)))
    says(refused.value, "to be let in", "a header of their own")
    check_connectors(check(text.format(where="type='nats', destination='a'")))
