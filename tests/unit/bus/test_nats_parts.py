"""Parts of the NATS carrier that need no server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from lockstep.bus.in_flight import InFlight
from lockstep.bus.nats.address import BadAddressError, parse_address
from lockstep.bus.nats.checksum import (
    CHECKSUM,
    DamagedMessageError,
    Inspection,
    checksum,
    differing,
)
from lockstep.bus.nats.errors import ApiError, api_error
from lockstep.bus.nats.input_log import header_id
from lockstep.events import UnavailableError
from tests.chaos.repetitions import DAMAGED, WHOLE


def test_an_address_names_servers_and_files(tmp_path: Path) -> None:
    """Several servers, a token from a file; secrets are not shown."""
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    address = parse_address(f"nats://u:p@a:4222, nats://b?token_file={file}&credentials=/c")
    assert address.servers == ("nats://u:p@a:4222", "nats://b")
    assert (address.token, address.credentials) == ("s3cret", "/c")
    assert address.shown == "a:4222,b"


@pytest.mark.parametrize(
    "url",
    [
        "", "nats://a?colour=red", "nats://a?token_file=/does/not/exist", "nats:/u:hidden@a",
        "nats://u:hidden@a:port", "http://a:4222", "nats://a,nats://", "nats://u:hid/den@a",
    ],
)  # fmt: skip
def test_a_bad_address_is_told_with_what_is_wrong(url: str) -> None:
    """Before anything is tried."""
    with pytest.raises(BadAddressError) as caught:
        parse_address(url)
    assert caught.value.where == "bus.url"
    assert "hid" not in str(caught.value)


def test_dedup_ids_stay_different_as_headers() -> None:
    """Also those that a header could not bear."""
    ids = ["a", "=a", " a", "a ", "a\n", "a\r\n", "ä", "x" * 500, "x" * 501, "", "\ud800"]
    made = [header_id(each) for each in ids]
    assert len(set(made)) == len(ids)
    assert all(each.isascii() and each.isprintable() and " " not in each for each in made)


async def test_in_flight_lets_pass_in_order_within_its_limits() -> None:
    """A small message behind a large one waits for its turn; one alone always passes."""
    gate = InFlight(max_messages=3, max_bytes=100, timeout_ms=60_000)
    passed: list[int] = []
    leave = [asyncio.Event() for _ in range(4)]

    async def send(number: int, size_bytes: int) -> None:
        async with gate.passing(size_bytes):
            passed.append(number)
            await leave[number].wait()

    tasks = [
        asyncio.create_task(send(number, size)) for number, size in enumerate((500, 80, 30, 10))
    ]

    async def settle() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    await settle()
    assert passed == [0]
    leave[0].set()
    await settle()
    assert passed == [0, 1]
    leave[1].set()
    await settle()
    assert passed == [0, 1, 2, 3]
    for event in leave:
        event.set()
    await asyncio.gather(*tasks)


async def test_a_cancelled_waiter_gives_its_turn_away() -> None:
    """Nobody waits behind somebody who has gone."""
    gate = InFlight(max_messages=1, max_bytes=100, timeout_ms=60_000)

    async def send() -> None:
        async with gate.passing(1):
            pass

    async with gate.passing(1):
        gone, next_one = asyncio.create_task(send()), asyncio.create_task(send())
        await asyncio.sleep(0)
        gone.cancel()
    await asyncio.wait_for(next_one, 5)


async def test_who_waits_too_long_is_told() -> None:
    """And takes nobody's place."""
    gate = InFlight(max_messages=1, max_bytes=100, timeout_ms=10)
    async with gate.passing(1):
        with pytest.raises(UnavailableError):
            async with gate.passing(1):
                pass
    async with gate.passing(1):
        pass


@pytest.mark.parametrize(
    ("status", "code", "temporary"),
    [
        (409, 10158, True),  # our own earlier attempt under this id is under way
        (400, 10005, True),  # no peer up to place a stream on
        (503, 10008, True),
        (429, 10167, True),
        (400, 10071, False),
        (404, 10059, False),
        (400, 10065, False),
    ],
)
def test_what_a_cluster_says_while_it_settles_is_tried_again(
    status: int, code: int, temporary: bool
) -> None:
    """Everything else that it refuses stays refused."""
    error = api_error("in.a", {"code": status, "err_code": code, "description": "told so"})
    assert isinstance(error, UnavailableError if temporary else ApiError)


@pytest.mark.parametrize(
    ("damaged", "at", "length"),
    [
        (b"abcdXYghij", 4, 2),
        (b"Xbcdefghij", 0, 1),
        (b"abcdefghiX", 9, 1),
        (b"abcd", 4, 0),
        (b"abcdXYZefghij", 4, 3),
        (b"", 0, 0),
        (b"abcdefghij", 10, 0),
    ],
)
def test_where_a_damaged_record_differs(damaged: bytes, at: int, length: int) -> None:
    """From the first byte that differs to the last one, also where one is shorter."""
    assert differing(damaged, b"abcdefghij") == (at, length)


def test_a_damaged_record_is_told_without_its_bytes() -> None:
    """When it comes, and when it has come whole; others in between say nothing."""
    whole, other = b"abcdefghij", b"other"
    with capture_logs() as told:
        inspection = Inspection("in-Log")
        with pytest.raises(DamagedMessageError, match="record 7"):
            inspection.check(7, b"abcSECRETj", {CHECKSUM: checksum(whole)}, "a:4222")
        inspection.check(6, other, {CHECKSUM: checksum(other)}, "b:4222")
        inspection.check(7, whole, {CHECKSUM: checksum(whole)}, "b:4222")
        inspection.check(7, whole, {CHECKSUM: checksum(whole)}, "b:4222")
    assert "SECRET" not in str(told)
    assert [one["event"] for one in told] == [DAMAGED, WHOLE]
    came, again = told
    assert (came["log"], came["sequence"], came["size_bytes"]) == ("in-Log", 7, 10)
    assert (came["server"], again["server"]) == ("a:4222", "b:4222")
    assert (again["differs_from_byte"], again["differing_bytes"]) == (3, 6)
