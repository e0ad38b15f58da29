"""What a replica is told of the desired state."""

from __future__ import annotations

from dataclasses import replace

from lockstep.control import AppView
from lockstep.events import Life
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from lockstep.store import Deployment
from lockstep_services.processor.replica.running import Wanted

TEXT = "define stream S (a int); from S select a insert into T;"


def test_what_is_known_already_wakes_nobody() -> None:
    """Every few seconds a processor tells each of its apps what is wanted."""
    view = AppView(Deployment("A", TEXT, "v", Life(1, 1), 1, 0), plan_of(TEXT))
    wanted = Wanted(view, ("n", "m"), load_settings({}).processor)
    wanted.change(view, ("n", "m"))
    assert not wanted.changed.is_set()
    wanted.change(view, ("m", "n"))
    assert wanted.changed.is_set()
    assert wanted.nodes == ("m", "n")
    wanted.changed.clear()
    later = replace(view, deployment=replace(view.deployment, settings={"standby": "warm"}))
    wanted.change(later, ("m", "n"))
    assert wanted.changed.is_set()
    assert not wanted.is_hot
