"""Where a replica begins: a pure choice from the revisions there are, the version wanted, and the
generation that the output log bears.

The newest revision that counts decides. Of the wanted version: go on from it. Of another version of
the same app, or from before a restore that was asked for: the old state is folded on until a leader
cuts over. Of an app that was undeployed for another one, or none: a first start. (An app that is
deployed again with the text it had is the same app: its coordinator sees to that.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep.bus import OutputTail
from lockstep.events import Generation, Life, Position
from lockstep.store import Deployment, Revision


def is_begun(version: str, life: Life, wanted: Deployment) -> bool:
    """A state of this version and life is what the deployment wants, not what came before it or
    belonged to an app that was undeployed for this one.
    """
    restoration = wanted.origin.restoration
    restored = restoration is None or life >= restoration.life
    excluded = all(life >= one.life for one in wanted.origin.exclusions)
    of_this_app = life.deployed_ms >= wanted.life.deployed_ms
    has_past = wanted.origin.past_for(life) is None
    return of_this_app and version == wanted.version and restored and excluded and has_past


def has_to_give_way(version: str, life: Life, wanted: Deployment) -> bool:
    """A state of this version and life is to be followed by what the deployment wants.

    Never by an earlier deployment: a node that has not heard of the newest one may already run it.
    Nor by one of the same life, which the output log bears: it takes a later one alone.
    """
    return life < wanted.life and not is_begun(version, life, wanted)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Begin with an empty state behind `origin`."""

    origin: Position


@dataclass(frozen=True, slots=True)
class Resume:
    """Restore this revision and fold on."""

    revision: Revision


@dataclass(frozen=True, slots=True)
class ResumeOld:
    """Restore this revision of an older state; the wanted one begins where a leader cuts over."""

    revision: Revision


Choice = Fresh | Resume | ResumeOld


def choose(
    revisions: Sequence[Revision], wanted: Deployment, tail: OutputTail, *, origin: Position
) -> Choice:
    """The beginning for a replica of the wanted deployment, whose output log ends with `tail`."""
    there = counting(revisions, tail)
    if not there:
        return Fresh(origin)
    newest = max(there, key=lambda one: (one.life, one.position, one.epoch))
    if is_begun(newest.version, newest.life, wanted):
        return Resume(newest)
    if newest.life.deployed_ms >= wanted.life.deployed_ms:
        return ResumeOld(newest)
    # Nobody has begun the app anew yet; rows of the one before may stand behind its origin.
    last = tail.last_id
    return Fresh(origin if last is None else max(origin, last.position))


def counting(revisions: Sequence[Revision], tail: OutputTail) -> list[Revision]:
    """The verified ones of the state that the output log bears, from its beginning on.

    All verified ones where it bears none. When none of its state is left, those of later ones that
    could still begin: nothing is published behind them.
    """
    verified = [one for one in revisions if one.verified]
    there = tail.generation
    if there is None:
        return verified
    own = [one for one in verified if one.is_of(there)]
    last = 0 if tail.last_id is None else tail.last_id.position
    return own or [one for one in verified if one.life > there.life and one.position >= last]


def generation_at(revision: Revision, tail: OutputTail) -> Generation:
    """The generation of who goes on from a counting revision."""
    there = tail.generation
    if there is not None and there.life == revision.life:
        return there
    if revision.begun is not None:
        return Generation(revision.life, revision.begun)
    # It has begun, and nothing tells where; or it is a beginning that may still be claimed.
    return Generation(revision.life, 0 if there is None else revision.position)


def forgettable(revisions: Sequence[Revision]) -> Position:
    """Up to which position the input log can go: the oldest verified revision's."""
    return min((one.position for one in revisions if one.verified), default=0)
