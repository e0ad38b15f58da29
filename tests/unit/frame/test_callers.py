"""What callers show that is nothing: they are nobody, and nothing fails because of it."""

from __future__ import annotations

import base64

import pytest
from aiohttp.test_utils import make_mocked_request

from lockstep.clock import VirtualClock
from lockstep.frame.callers import Callers


@pytest.mark.parametrize(
    "shown",
    ["Basic é", "Basic", "Basic eee", "Basic !", "Bearer é",
     f"Basic {base64.b64encode(b'a:' + bytes([255])).decode()}"],
    ids=range(6),
)  # fmt: skip
async def test_credentials_that_cannot_be_read_are_wrong_ones(shown: str) -> None:
    """Letters that base64 has not, half of it, no text in it."""
    callers = Callers("the-cluster-secret", VirtualClock())
    request = make_mocked_request("GET", "/", {"Authorization": shown})
    assert await callers.of(request) is None
