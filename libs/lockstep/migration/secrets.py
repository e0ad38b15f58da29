"""What must never reach an app or a report: passwords and their like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_NAMES: Final = re.compile(
    r"passw|passphrase|secret|credential(?!s?[._](path|file))|api[._-]?key|private[._-]?key|(access|refresh)[._-]?token",
    re.IGNORECASE,
)
_IN_URL: Final = re.compile(r"(?<=://)([^/@\s:'\"]*):([^/\s'\"]+)@")
_IN_ORACLE: Final = re.compile(r"(?<=jdbc:oracle:)(\w+:[^/@\s]+)/([^@\s]+)@", re.IGNORECASE)
_IN_TEXT: Final = re.compile(
    r"((?:passw\w*|secret)\b[\w.]*\s*[=:]\s*)('[^']*'|\"[^\"]*\"|[^\s,'\")]+)", re.IGNORECASE
)


def is_secret(name: str, attributes: Mapping[str, str] | None = None) -> bool:
    """Whether the value behind a name is nobody's business; `encrypted="true"` says so, too."""
    encrypted = (attributes or {}).get("encrypted", "")
    return encrypted.strip().lower() == "true" or _NAMES.search(name) is not None


def placeholder(owner: str, option: str) -> str:
    """What stands in an app instead, to be filled in."""
    return "${secret:" + f"{owner}.{option}" + "}"


def without_password(url: str, owner: str) -> str:
    """An address whose password, if there is one, is a placeholder."""
    filled = placeholder(owner, "password")
    url = _IN_ORACLE.sub(lambda found: f"{found[1]}/{filled}@", url)
    return _IN_URL.sub(lambda found: f"{found[1]}:{filled}@", url)


def masked(text: str) -> str:
    """A comment or a text for people, without what looks like a password in it."""
    text = _IN_ORACLE.sub(r"\1/***@", _IN_URL.sub(r"\1:***@", text))
    return _IN_TEXT.sub(r"\1'***'", text)


def shown(name: str, value: str) -> str:
    """A value for the report."""
    return "***" if is_secret(name) else masked(value)
