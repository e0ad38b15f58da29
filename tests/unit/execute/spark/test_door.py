"""What is closed while somebody is inside is given back when that one leaves."""

from __future__ import annotations

import threading

import pytest

from lockstep.execute.contract import StateLostError
from lockstep.execute.spark.door import Door

pytestmark = pytest.mark.unit


def test_who_closes_waits_for_nobody() -> None:
    """Who is inside gives back, once all of its steps are done; who comes later is refused."""
    given: list[str] = []
    door = Door(lambda: given.append(threading.current_thread().name))
    is_inside, may_leave = threading.Event(), threading.Event()

    def stay() -> None:
        with door.inside():
            with door.inside():
                is_inside.set()
                may_leave.wait()
            given.append("still inside")

    staying = threading.Thread(target=stay, name="who stayed")
    staying.start()
    is_inside.wait()
    door.close()
    assert given == []
    may_leave.set()
    staying.join()
    assert given == ["still inside", "who stayed"]
    with pytest.raises(StateLostError, match="closed"):
        door.check()


def test_where_nobody_is_inside_all_is_given_back_at_once() -> None:
    """Also where whoever was there has failed."""
    given: list[int] = []
    door = Door(lambda: given.append(1))
    with pytest.raises(ValueError, match="failed"), door.inside():
        raise ValueError("failed")
    door.check()
    door.close()
    assert given == [1]
