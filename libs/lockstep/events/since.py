"""Names that bear since when an app's logs exist: what belongs to logs that were purged is not
taken for what belongs to the ones that followed. 0 stands for logs of which that was not noted."""

from __future__ import annotations


def with_since(name: str, since_ms: int) -> str:
    """`<name>@<since>`."""
    return f"{name}@{since_ms}" if since_ms else name


def without_since(name: str) -> str:
    """The name that `with_since` was given."""
    return name.rpartition("@")[0] if since_in(name) else name


def since_in(name: str) -> int:
    """The time that `with_since` has put there."""
    since = name.rpartition("@")[2]
    return int(since) if since.isdigit() else 0
