"""What an app has for itself alone."""

from __future__ import annotations

import pytest

from lockstep.control import claims_of, may_claim
from lockstep.siddhiql import check

MAP = "@map(type='json')) define stream S (a int);"


@pytest.mark.parametrize(
    ("source", "claims"),
    [
        ("type='http', receiver.url='http://0.0.0.0:8006/orders/'", {"the path '/orders'"}),
        ("type='HTTP', Receiver.Url='http://0.0.0.0:8006/orders'", {"the path '/orders'"}),
        ("type='http', receiver.url='http://0.0.0.0:8006'", set()),
        ("type='http'", set()),
        (
            "type='nats', destination='a.b', durable.name='d'",
            {"the durable.name 'd' of the subject 'a.b'"},
        ),
        ("type='nats', destination='a.b', durable.name='d', server.urls='nats://h'", set()),
        ("type='nats', destination='a.b'", set()),
    ],
)
def test_paths_and_places(source: str, claims: set[str]) -> None:
    """A path that is named, and a place in a stream of the suite's own bus."""
    text = f"@source({source}, {MAP}"
    assert set(claims_of(check(text))) == claims
    assert may_claim(text) or not claims
