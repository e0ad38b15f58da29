"""A lease server's URL that nobody can read ends a start at once."""

from __future__ import annotations

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.leader.redis import RedisLeases
from lockstep.leader.redis.address import BadRedisAddressError


def leases(url: str) -> RedisLeases:
    """Not connected yet."""
    return RedisLeases(url, SystemClock(), SystemRandomness())


@pytest.mark.parametrize(
    "url",
    [
        "redis://a:6379", "redis://u:p%2F@a:6379/3", "rediss://[::1]:6379/0",
        "unix:///run/redis.sock?db=2",
    ],
)  # fmt: skip
def test_what_can_be_read(url: str) -> None:
    """With a database or without one."""
    leases(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("a:6379", "cannot be understood"),
        ("redis+sentinel://a:26379/main", "cannot be understood"),
        ("redis://a:port", "cannot be understood"),
        ("redis://a:1,b:2", "cannot be understood"),
        ("redis://a:6379/main", "the database 'main', which is no number"),
        ("redis://a:6379/-1", "the database '-1', which is no number"),
        ("redis://:hid/den@a:6379/0", "whose password has a slash in it"),
        ("redis:///0", "without a host"),
    ],
)
def test_what_cannot(url: str, says: str) -> None:
    """The client library reads some of them as another server or database."""
    with pytest.raises(BadRedisAddressError, match=says) as caught:
        leases(url)
    assert "leader.url" in str(caught.value)
    assert "hid" not in str(caught.value)
