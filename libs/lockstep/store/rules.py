"""Decisions that are made alike everywhere: which deployment may follow which, which revisions go
and which have to stay. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from lockstep.events import Generation, Life, Position
from lockstep.rights.audit import AuditEntry
from lockstep.store.contract import Deployment, Origin, Removed, Revision
from lockstep.store.versions import AppVersion, Deploying

_State = tuple[str, Life, Position | None]


def may_follow(
    new: Deployment, present: Deployment | None, removed: Removed | None, *, revives: bool = True
) -> bool:
    """Whether a deployment may be written over what is deployed or was deployed last; `revives`:
    over the latter at all."""
    if new.life.number == 1:
        earlier = removed is None or removed.deployment.life.deployed_ms < new.life.deployed_ms
        return present is None and earlier
    if present is None and removed is not None and revives:
        present = removed.kept
    if present is None:
        return False
    return new.life == present.life.next


def has_unseen(app: str, present: Iterable[tuple[str, str]], beside: Sequence[Deployment]) -> bool:
    """Whether other apps than `app` are deployed, or other versions of them, than somebody has
    looked at; `present`: apps and versions."""
    seen = {(one.app, one.version) for one in beside}
    return any(one[0] != app and one not in seen for one in present)


def as_removed(last: Deployment, *, purged: bool) -> Removed:
    """What is kept of an undeployed app."""
    if not purged:
        return Removed(last, purged=False)
    gone = replace(last, text="", settings={}, origin=Origin(), parallel=0, layout=0, former=None)
    return Removed(gone, purged=True)


def next_version(
    deployment: Deployment, deploying: Deploying, newest: AppVersion | None
) -> AppVersion | None:
    """What is noted of a deployed text; None where it is the newest version already."""
    if newest is not None and newest.digest == deployment.version:
        return None
    return AppVersion(
        app=deployment.app,
        number=1 if newest is None else newest.number + 1,
        digest=deployment.version,
        size_bytes=len(deployment.text.encode()),
        deployed_ms=deployment.updated_ms,
        who=deploying.who,
        how=deploying.how,
    )


def chosen(
    newest_first: Iterable[AuditEntry],
    *,
    before: int | None,
    limit: int,
    app: str | None,
    who: str | None,
) -> list[AuditEntry]:
    """Entries of the audit log as somebody asks for them."""
    fitting = (
        one
        for one in newest_first
        if (before is None or one.id < before) and app in (None, one.app) and who in (None, one.who)
    )
    return list(islice(fitting, limit))


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


def needed(revisions: Sequence[Revision]) -> list[Revision]:
    """Those without which a replica may not find its state again: of every state (app version, what
    was deployed or restored when it began, and where that was) the newest verified one, and
    unverified ones that are newer than all verified ones, since somebody may be about to verify
    them."""
    found: list[Revision] = []
    states: set[_State] = set()
    for revision in newest_first(revisions):
        if not revision.verified:
            if not states:
                found.append(revision)
        elif _state_of(revision) not in states:
            states.add(_state_of(revision))
            found.append(revision)
    return found


def beginnings(revisions: Sequence[Revision]) -> list[Revision]:
    """The first one of each life, and the first verified one, but of the earliest life that is
    kept: without it nobody knows from which position on that life held, and a time in it would be
    taken for one in a life before. Those that make room by themselves are the oldest, so this holds
    of itself there."""
    first: dict[Life, Revision] = {}
    verified: dict[Life, Revision] = {}
    for revision in newest_first(revisions):
        first[revision.life] = revision
        if revision.verified:
            verified[revision.life] = revision
    later = sorted(first)[1:]
    found = (each.get(life) for life in later for each in (first, verified))
    return list({one.id: one for one in found if one is not None}.values())


def _state_of(revision: Revision) -> _State:
    return revision.version, revision.life, revision.begun


def counts_for(revision: Revision, state: Generation) -> bool:
    """Who begins again in that state may begin with it: it is verified, and of that very state."""
    return revision.verified and revision.is_of(state)
