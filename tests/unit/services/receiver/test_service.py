"""Who waits for an app's answer, and which answers are kept."""

from __future__ import annotations

import pytest

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.control import AppAnswer
from lockstep.frame.problems import Problem
from lockstep.settings import load_settings
from lockstep.siddhiql import ast
from lockstep.telemetry import MetricName, Metrics
from lockstep_services.receiver.service import Services, Waiting
from lockstep_services.receiver.sources import Source

PLACE = ("A", "adder", "m1")
PUSHED_BACK: MetricName = "lockstep_receiver_pushed_back_total"


def answer(message_id: str = "m1", payload: bytes = b"1") -> AppAnswer:
    """Of the service `adder` of app A."""
    return AppAnswer("A", "adder", message_id, payload, {"Content-Type": "text/plain"})


def test_the_first_answer_counts_for_all_who_wait() -> None:
    """Also when a publisher tells it again, or another row names the same request."""
    waiting = Waiting(kept_bytes=2_000)
    with waiting.holding() as one, waiting.holding() as other:
        one.expect(PLACE)
        other.expect(PLACE)
        assert not waiting.take(answer("m2"))
        assert not one.rings.is_set()
        assert waiting.count == 2
        assert waiting.take(answer())
        assert waiting.take(answer(payload=b"2"))
        assert one.rings.is_set()
        assert (one.answer, other.answer) == (answer(), answer())
    assert waiting.count == 0
    assert waiting.take(answer(payload=b"3"))


def test_an_answer_that_nobody_waited_for_is_there_when_somebody_does() -> None:
    """It was told as unwanted until then; the publisher may tell it once more."""
    waiting = Waiting(kept_bytes=2_000)
    assert not waiting.take(answer())
    assert not waiting.take(answer())
    with waiting.holding() as held:
        held.expect(PLACE)
        assert held.rings.is_set()
        assert held.answer == answer()
    assert waiting.take(answer())


def test_the_oldest_answers_go_when_they_are_too_many_bytes() -> None:
    """But never the newest, however large it is, and not what somebody has got already."""
    waiting = Waiting(kept_bytes=2_000)

    def kept(message_id: str) -> bool:
        with waiting.holding() as held:
            held.expect(("A", "adder", message_id))
            return held.answer is not None

    with waiting.holding() as first:
        first.expect(("A", "adder", "n0"))
        for number in range(5):
            waiting.take(answer(f"n{number}", b"x" * 60))
        assert [number for number in range(5) if kept(f"n{number}")] == [2, 3, 4]
        assert first.answer == answer("n0", b"x" * 60)
    waiting.take(answer("large", b"x" * 10_000))
    assert kept("large")
    assert not kept("n4")


def test_who_waits_when_the_receiver_ends_is_told_so() -> None:
    """At once, and so is who comes then."""
    waiting = Waiting(kept_bytes=2_000)
    with waiting.holding() as held, waiting.holding() as late:
        held.expect(PLACE)
        waiting.close()
        assert held.rings.is_set()
        assert held.answer is None
        late.expect(("A", "adder", "m9"))
        assert late.rings.is_set()


def test_no_more_requests_wait_than_the_settings_say() -> None:
    """429 with Retry-After for the next one."""
    settings = load_settings({"LOCKSTEP_RECEIVER__MAX_WAITING_REQUESTS": "1"}).receiver
    metrics = Metrics()
    services = Services(settings, VirtualClock(0), SeededRandomness(1), metrics)
    services.check_room()
    with services.waiting.holding(), pytest.raises(Problem) as caught:
        services.check_room()
    assert caught.value.status == 429
    assert caught.value.retry_after_ms == settings.retry_after_ms
    services.check_room()
    assert metrics.value(PUSHED_BACK, reason="waiting") == 1


async def test_only_who_is_still_there_is_told_that_the_receiver_ends() -> None:
    """503; who has hung up is not counted among those who were pushed back."""
    metrics = Metrics()
    services = Services(load_settings({}).receiver, VirtualClock(0), SeededRandomness(1), metrics)
    with services.waiting.holding() as held:
        held.expect(PLACE)
        with pytest.raises(Problem):
            await services.answer(held, 1_000, lambda: True)
        assert metrics.value(PUSHED_BACK, reason="ending") == 0
        services.waiting.close()
        with pytest.raises(Problem) as caught:
            await services.answer(held, 1_000)
    assert caught.value.status == 503
    assert metrics.value(PUSHED_BACK, reason="ending") == 1


def test_a_request_with_a_key_is_known_again_by_whoever_sent_it() -> None:
    """By nobody else, with nothing else in it, at no other source, and not after a purge."""
    settings = load_settings({}).receiver
    services = Services(settings, VirtualClock(0), SeededRandomness(1), Metrics())
    source = Source("A", "S", 0, "http-service", ast.Annotation("source", ()), None)
    other = Source("A", "S", 1, "http-service", ast.Annotation("source", ()), None)
    same = services.message_id(source, 7, "user ann", "k", b"1")
    assert services.message_id(source, 7, "user ann", "k", b"1") == same
    others = [
        services.message_id(source, 7, "user bob", "k", b"1"),
        services.message_id(source, 7, "user ann", "k2", b"1"),
        services.message_id(source, 7, "user ann", "k", b"2"),
        services.message_id(source, 8, "user ann", "k", b"1"),
        services.message_id(other, 7, "user ann", "k", b"1"),
        services.message_id(source, 7, "user ann", None, b"1"),
        services.message_id(source, 7, "user ann", None, b"1"),
    ]
    assert len({same, *others}) == 8
