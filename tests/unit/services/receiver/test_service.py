"""Who waits for an app's answer, and which answers are kept."""

from __future__ import annotations

import pytest

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.control import AppAnswer
from lockstep.frame.problems import Problem
from lockstep.settings import load_settings
from lockstep_services.receiver.service import Services, Waiting

PLACE = ("A", "adder", "m1")


def answer(message_id: str = "m1", payload: bytes = b"1") -> AppAnswer:
    """Of the service `adder` of app A."""
    return AppAnswer("A", "adder", message_id, payload, {"Content-Type": "text/plain"})


def test_the_first_answer_counts_for_all_who_wait() -> None:
    """Also when a publisher tells it again, or another row names the same request."""
    waiting = Waiting(kept_bytes=1_000)
    with waiting.expecting(PLACE) as one, waiting.expecting(PLACE) as other:
        assert not waiting.take(answer("m2"))
        assert not one.is_set()
        assert waiting.count == 2
        assert waiting.take(answer())
        assert one.is_set()
        assert other.is_set()
        found = waiting.answer(PLACE)
        assert found is not None
        assert found.payload == b"1"
    assert waiting.count == 0
    assert waiting.take(answer(payload=b"2"))
    assert waiting.answer(PLACE) == answer()


def test_an_answer_that_nobody_waited_for_is_there_when_somebody_does() -> None:
    """It was told as unwanted until then; the publisher may tell it once more."""
    waiting = Waiting(kept_bytes=1_000)
    assert not waiting.take(answer())
    assert not waiting.take(answer())
    with waiting.expecting(PLACE) as rings:
        assert rings.is_set()
        assert waiting.answer(PLACE) == answer()
    assert waiting.take(answer())


def test_the_oldest_answers_go_when_they_are_too_many_bytes() -> None:
    """But never the newest, however large it is."""
    waiting = Waiting(kept_bytes=2_000)
    for number in range(5):
        waiting.take(answer(f"n{number}", b"x" * 60))
    kept = [number for number in range(5) if waiting.answer(("A", "adder", f"n{number}"))]
    assert kept == [2, 3, 4]
    waiting.take(answer("large", b"x" * 10_000))
    assert waiting.answer(("A", "adder", "large")) is not None
    assert waiting.answer(("A", "adder", "n4")) is None


def test_who_waits_when_the_receiver_ends_is_told_so() -> None:
    """At once, and so is who comes then."""
    waiting = Waiting(kept_bytes=1_000)
    with waiting.expecting(PLACE) as rings:
        waiting.close()
        assert rings.is_set()
        assert waiting.answer(PLACE) is None
        with waiting.expecting(("A", "adder", "m9")) as late:
            assert late.is_set()


def test_no_more_requests_wait_than_the_settings_say() -> None:
    """429 with Retry-After for the next one."""
    settings = load_settings({"LOCKSTEP_RECEIVER__MAX_WAITING_REQUESTS": "1"}).receiver
    services = Services(settings, VirtualClock(0), SeededRandomness(1))
    services.check_room()
    with services.waiting.expecting(PLACE), pytest.raises(Problem) as caught:
        services.check_room()
    assert caught.value.status == 429
    assert caught.value.retry_after_ms == settings.retry_after_ms
    services.check_room()
