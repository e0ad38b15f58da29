"""The page of an app: what its table of replicas says."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep_services.console.pages.app import role_of


@pytest.mark.parametrize(
    ("replica", "said"),
    [
        ({"role": "active", "ready": True}, "leads"),
        ({"role": "passive", "ready": True}, "ready"),
        ({"role": "syncing", "ready": False}, "catching up"),
        ({"role": "failing", "ready": False}, "fails"),
    ],
)
def test_a_replica_is_told_as_what_it_is(replica: dict[str, Any], said: str) -> None:
    """One that fails again and again does not catch up."""
    assert role_of(replica).content == said
