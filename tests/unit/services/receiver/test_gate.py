"""When the door is closed, and what is said then."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from lockstep.control import FAILING, GroupStatus
from lockstep.frame.problems import Problem
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics
from lockstep_services.receiver.gate import Gate
from lockstep_services.receiver.lag import LagWatch

SETTINGS = load_settings({}).receiver
STATUS = GroupStatus("App", "main", 0, "v", 1, "active", position=5, log_end=7)


@dataclass
class Told:
    """What heartbeats say of the replicas of every app."""

    statuses: tuple[GroupStatus, ...] = ()

    def groups(self, app: str) -> list[tuple[None, GroupStatus]]:
        return [(None, status) for status in self.statuses]


def gate(*statuses: GroupStatus) -> Gate:
    """A gate that has heard of these replicas."""
    watch = LagWatch(Told(statuses), lambda app: 0)  # type: ignore[arg-type]
    return Gate(SETTINGS, watch, Metrics())


def refusal(closed: Gate) -> str:
    """What a request is told."""
    with pytest.raises(Problem) as told, closed.passing("App", 10):
        pass
    assert told.value.retry_after_ms == SETTINGS.retry_after_ms
    assert told.value.status == 429
    return told.value.message


def test_it_is_open_while_the_processors_keep_up_and_have_room() -> None:
    """Also when nothing was heard of them yet."""
    for each in (gate(), gate(STATUS), gate(msgspec.structs.replace(STATUS, state_rows=10**9))):
        assert not each.is_closed("App")
        with each.passing("App", 10):
            pass


def test_it_is_closed_while_the_processors_are_behind() -> None:
    """By more records than the limit."""
    end = STATUS.position + SETTINGS.max_log_lag_positions
    assert not gate(msgspec.structs.replace(STATUS, log_end=end)).is_closed("App")
    closed = gate(msgspec.structs.replace(STATUS, log_end=end + 1))
    assert closed.is_closed("App")
    assert f"{SETTINGS.max_log_lag_positions + 1} positions behind" in refusal(closed)


def test_it_is_closed_while_one_replica_has_no_room() -> None:
    """Whichever it is; and says that it is the state, not the speed."""
    closed = gate(STATUS, msgspec.structs.replace(STATUS, state_full=True))
    assert closed.is_closed("App")
    assert "windows and tables of 'App'" in refusal(closed)


def test_what_is_under_way_has_limits_of_its_own() -> None:
    """Requests and bytes; a single large body passes."""
    limits = SETTINGS.model_copy(update={"max_inflight_requests": 2, "max_inflight_bytes": 100})
    door = Gate(limits, LagWatch(Told(), lambda app: 0), Metrics())  # type: ignore[arg-type]
    with door.passing("App", 500):
        assert "500 bytes" in refusal(door)
    with door.passing("App", 1), door.passing("App", 1):
        assert "2 requests" in refusal(door)
    with door.passing("App", 100):
        pass


def test_a_body_that_turns_out_larger_than_it_said_is_counted_as_it_comes() -> None:
    """Nothing was announced of it; what does not fit is pushed back, and nothing is kept of it."""
    limits = SETTINGS.model_copy(update={"max_inflight_bytes": 100})
    door = Gate(limits, LagWatch(Told(), lambda app: 0), Metrics())  # type: ignore[arg-type]
    with door.passing("App", 0) as first:
        first.grow_to(60)
        first.grow_to(30)  # less than it holds is no more
        with door.passing("App", 0) as second:
            second.grow_to(40)
            with pytest.raises(Problem) as told:
                second.grow_to(41)
        assert told.value.status == 429
        assert "60 bytes" in told.value.message
        with door.passing("App", 40):
            pass
    with door.passing("App", 0) as alone:
        alone.grow_to(500)
        assert "500 bytes" in refusal(door)
    with door.passing("App", 1), door.passing("App", 99):
        pass


def test_of_an_app_that_is_gone_no_position_is_remembered() -> None:
    """One of its name that comes later is not behind by what that one had."""
    told = Told((STATUS,))
    watch = LagWatch(told, lambda app: 0)  # type: ignore[arg-type]
    assert watch.lag("App") == 2
    told.statuses = ()
    watch.keep(["App"])
    assert list(watch._positions) == ["App"]
    watch.keep([])
    assert not watch._positions


def test_a_replica_that_fails_and_never_ran_is_not_behind() -> None:
    """It knows of no position: with both services started again, all of the log would seem lag."""
    never = msgspec.structs.replace(STATUS, role=FAILING, position=0, log_end=0)
    watch = LagWatch(Told((never,)), lambda app: 20_000)  # type: ignore[arg-type]
    assert watch.lag("App") == 0
    stood = msgspec.structs.replace(STATUS, role=FAILING, position=5, log_end=7)
    watch = LagWatch(Told((never, stood)), lambda app: 7)  # type: ignore[arg-type]
    assert watch.lag("App") == 2
