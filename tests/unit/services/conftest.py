"""What tests of services have in common."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from lockstep.rights import passwords


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed as cheaply as can be: what that costs others is not asked here
    (tests/unit/rights/test_accounts.py)."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_HASHER", cheap)
    monkeypatch.setattr(passwords, "NOBODYS", cheap.hash("nobody"))
