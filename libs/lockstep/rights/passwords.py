"""Passwords at rest: argon2id. The one door of argon2."""

from __future__ import annotations

from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from lockstep.rights.accounts import AccountError

MIN_CHARACTERS: Final = 12
MAX_CHARACTERS: Final = 256
SALT_BYTES: Final = 16
_HASHER: Final = PasswordHasher()
NOBODYS: Final = _HASHER.hash("nobody", salt=b"lockstep.nobody.")
"""Of nobody: checked in the place of a user's that is not there, which then takes as long."""


def hashed(password: str, salt: str) -> str:
    """To be kept. AccountError for one that is too short or too long."""
    if not MIN_CHARACTERS <= len(password) <= MAX_CHARACTERS:
        raise AccountError(f"a password has {MIN_CHARACTERS} to {MAX_CHARACTERS} characters")
    return _HASHER.hash(password, salt=salt.encode()[:SALT_BYTES])


def fits(kept: str, password: str) -> bool:
    """Takes some ten milliseconds of a processor: not on the event loop."""
    if len(password) > MAX_CHARACTERS:
        return False
    try:
        _HASHER.verify(kept or NOBODYS, password)
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept)
