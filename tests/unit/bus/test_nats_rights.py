"""How a NATS server's complaints of missing rights are understood, and how often they are told."""

from __future__ import annotations

import nats.errors
import pytest
from structlog.testing import capture_logs

from lockstep.bus import LogFullError
from lockstep.bus.nats.errors import StreamSettingsError, api_error
from lockstep.bus.nats.rights import Violation, violation_in
from lockstep.bus.nats.troubles import Troubles

SUBSCRIPTION = "nats: permissions violation for subscription to"


@pytest.mark.parametrize(
    ("said", "violation"),
    [
        ('nats: permissions violation for publish to "in.a"', Violation("in.a", False, None)),
        (
            'nats: permissions violation for publish with reply of "$js.ack.x"',
            Violation("$js.ack.x", False, None),
        ),
        (f'{SUBSCRIPTION} "a.>" (sid "12")', Violation("a.>", True, 12)),
        (f'{SUBSCRIPTION} "a.*"', Violation("a.*", True, None)),
        (f'{SUBSCRIPTION} "a" using queue "q \\"x\\"" (sid "3")', Violation("a", True, 3)),
        (f'{SUBSCRIPTION} "a\\"b\\\\c"', Violation('a"b\\c', True, None)),
        ("nats: 'Authorization Violation'", None),
        ("nats: maximum payload violation", None),
    ],
)
def test_what_a_server_complains_of(said: str, violation: Violation | None) -> None:
    """Of a message or of a subscription, with its number where the server names it."""
    assert violation_in(nats.errors.Error(said)) == violation


def test_a_missing_right_is_told_once_in_a_minute_for_each_subject() -> None:
    """Names that are new each time count as one, and no number of them fills the memory."""
    troubles = Troubles("a:4222")
    with capture_logs() as told:
        for second in range(60):
            for subject in (
                "in.A",
                "in.B",
                f"$JS.API.CONSUMER.CREATE.s.{second}",
                f"_INBOX.{second}",
            ):
                troubles.lacks(troubles.not_allowed("publish", subject), float(second))
        assert len(told) == 4
        troubles.lacks(troubles.not_allowed("publish", "in.A"), 60.0)
        troubles.lacks(troubles.not_allowed("subscribe", "in.A"), 60.0)
        assert len(told) == 6
        for number in range(5_000):
            troubles.lacks(troubles.not_allowed("publish", f"in.{number}"), 60.5)
    assert len(told) <= 1_010
    assert {one["log_level"] for one in told} == {"error"}


@pytest.mark.parametrize(
    ("code", "description", "message"),
    [
        (10077, "maximum messages exceeded", "the log is full: maximum messages exceeded"),
        (
            10077,
            "maximum bytes exceeded",
            "the log is full: maximum bytes exceeded (in the settings: 7 bytes)",
        ),
    ],
)
def test_a_full_log_says_by_which_limit(code: int, description: str, message: str) -> None:
    """The server's words, and our limit where it may be that one."""
    error = api_error("in.a", {"code": 503, "err_code": code, "description": description}, 7)
    assert isinstance(error, LogFullError)
    assert error.message == message


@pytest.mark.parametrize(
    ("code", "description", "lasting"),
    [
        (10052, "stream configuration update can not change storage type", True),
        (10110, "stream purge not permitted", True),
        (10110, "stream purge failed: no leader", False),
        (10049, "stream create error", False),
    ],
)
def test_what_lasts_is_not_told_as_passing(code: int, description: str, lasting: bool) -> None:
    """Though the server calls both an error of its own."""
    error = api_error("in.a", {"code": 500, "err_code": code, "description": description})
    assert isinstance(error, StreamSettingsError) is lasting
    assert description in str(error)
