"""Readiness: a check that fails in any way counts as unwell, and the others still answer."""

from __future__ import annotations

from structlog.testing import capture_logs

from lockstep.events import UnavailableError
from lockstep.frame.health import Readiness
from lockstep.telemetry import get_logger


async def _well() -> str | None:
    return None


async def _away() -> str | None:
    raise UnavailableError("the store is away")


async def test_a_check_with_a_fault_of_its_own_counts_as_unwell() -> None:
    """It says of which kind; its text may hold anything. The log has it once, not at each poll, and
    again when it was well meanwhile."""
    is_broken = True

    async def faulty() -> str | None:
        if is_broken:
            raise KeyError("a secret")
        return None

    with capture_logs() as lines:
        readiness = Readiness(get_logger())
        readiness.register("store", _away)
        readiness.register("faulty", faulty)
        readiness.register("bus", _well)
        readiness.open()
        reports = [await readiness.report() for _ in range(3)]
        for report in reports:
            assert report == {
                "service": None,
                "store": "the store is away",
                "faulty": "the check failed: KeyError; the log has more of it",
                "bus": None,
            }
        said = [line["check"] for line in lines if line["log_level"] == "error"]
        assert said == ["faulty"]
        is_broken = False
        assert (await readiness.report())["faulty"] is None
        is_broken = True
        await readiness.report()
    assert len(lines) == 2
