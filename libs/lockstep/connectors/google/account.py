"""The key of a service account, and what it signs to get an access token (RFC 7523)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import jwt

GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LASTS_S: Final = 3_600
"""How long a token is asked for: the most that Google gives."""
_NEEDED: Final = ("client_email", "private_key", "token_uri")


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """Who asks, with the private key that proves it; it is never shown."""

    email: str
    private_key: str
    key_id: str
    token_uri: str

    def assertion(self, scope: str, now_ms: int) -> str:
        """A signed claim, good for one hour, for the token's address alone, and for what `scope`
        names. ValueError where the key is none."""
        now_s = now_ms // 1000
        claims = {
            "iss": self.email, "scope": scope, "aud": self.token_uri,
            "iat": now_s, "exp": now_s + LASTS_S,
        }  # fmt: skip
        headers = {"kid": self.key_id} if self.key_id else None
        try:
            return jwt.encode(claims, self.private_key, algorithm="RS256", headers=headers)
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise ValueError("its private_key is no RSA key in PEM") from error


def account_of(text: str) -> Account:
    """Of a key file's JSON; ValueError says what is wrong with it, without any of its values."""
    try:
        found: Any = json.loads(text)
    except ValueError as error:
        raise ValueError("it is no JSON") from error
    if not isinstance(found, dict) or found.get("type", "service_account") != "service_account":
        raise ValueError("it is no key of a service account")
    for name in _NEEDED:
        if not isinstance(found.get(name), str) or not found[name]:
            raise ValueError(f"it has no {name}")
    key_id = found.get("private_key_id", "")
    return Account(
        found["client_email"], found["private_key"], str(key_id or ""), found["token_uri"]
    )
