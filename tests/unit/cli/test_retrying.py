"""What is asked again, and for how long."""

from __future__ import annotations

import pytest

from lockstep.cli.replay import send_retrying
from lockstep.events import Fault, LockstepError, UnavailableError


class _Answers:
    """Errors in turn, then an answer."""

    def __init__(self, *errors: LockstepError) -> None:
        self._errors = list(errors)
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        if self._errors:
            raise self._errors.pop(0)
        return "here"


class _WrongError(LockstepError):
    fault = Fault.USER


@pytest.mark.parametrize("limit_ms", [None, 60_000])
async def test_who_is_away_for_a_moment_is_asked_again(limit_ms: int | None) -> None:
    """Until there is an answer."""
    ask = _Answers(UnavailableError("away"), UnavailableError("away"))
    assert await send_retrying(ask, limit_ms=limit_ms) == "here"
    assert ask.asked == 3


async def test_who_stays_away_is_given_up_in_time() -> None:
    """With what was said last."""
    ask = _Answers(*(UnavailableError(f"away {n}") for n in range(1_000)))
    with pytest.raises(UnavailableError, match="away"):
        await send_retrying(ask, limit_ms=200)
    assert 1 <= ask.asked < 100


async def test_what_is_wrong_is_not_asked_again() -> None:
    """It would be wrong the next time, too."""
    ask = _Answers(_WrongError("no"))
    with pytest.raises(_WrongError):
        await send_retrying(ask, limit_ms=60_000)
    assert ask.asked == 1
