"""Decisions that every adapter makes alike: which revisions go, which writes are stale. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.store.contract import Revision


def newest_first(revisions: Sequence[Revision]) -> list[Revision]:
    """By position, then by time, newest first."""
    return sorted(revisions, key=lambda r: (r.position, r.created_ms, r.id), reverse=True)


def purgeable(revisions: Sequence[Revision], keep: int) -> list[Revision]:
    """Those that go: verified ones behind the newest `keep`, unverified ones behind the newest
    verified one. What may still become the newest verified revision stays."""
    ordered = newest_first(revisions)
    kept_verified = 0
    going: list[Revision] = []
    for revision in ordered:
        if revision.verified:
            kept_verified += 1
            if kept_verified > keep:
                going.append(revision)
        elif kept_verified > 0:
            going.append(revision)
    return going
