"""What a machine may lack: its tests are passed over with the reason, but where CI is set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NoReturn

import pytest


def is_ci(environment: Mapping[str, str]) -> bool:
    """Whether nothing may be passed over."""
    return environment.get("CI", "").lower() not in ("", "0", "false")


def lacking(reason: str, environment: Mapping[str, str] = os.environ) -> NoReturn:
    """Ends the test: passed over, or failed under CI. `reason` is one line."""
    if is_ci(environment):
        pytest.fail(f"{reason} (CI is set: nothing is passed over)", pytrace=False)
    pytest.skip(reason)
