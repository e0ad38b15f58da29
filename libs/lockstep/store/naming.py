"""What names in the store say: a revision's, under which desired state it was made; a cursor's, of
which app's output log since when it tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lockstep.events import Position
from lockstep.events.since import with_since
from lockstep.store.contract import Deployment, Revision


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """Which desired state a revision was made under: when the app was deployed, and its
    generation.
    """

    created_ms: int
    generation: int


NEVER: Final = Stamp(0, 0)
"""Before all others."""


def stamp(deployment: Deployment) -> Stamp:
    """The stamp of revisions made under a deployment."""
    return Stamp(deployment.created_ms, deployment.generation)


def revision_id(app: str, made_under: Stamp, position: Position, unique: str) -> str:
    """The id of a revision; it carries the stamp."""
    return f"{app}.{made_under.created_ms}.{made_under.generation}.{position}.{unique}"


def stamp_of(revision: Revision) -> Stamp:
    """The stamp in a revision's id; the lowest one for ids of another make."""
    parts = revision.id.rsplit(".", 4)
    if len(parts) == 5 and parts[1].isdigit() and parts[2].isdigit():
        return Stamp(int(parts[1]), int(parts[2]))
    return NEVER


def cursor_name(app: str, sink: str, since_ms: int) -> str:
    """Of a sink of an app, whose logs have been there since then (0: nobody knows)."""
    return with_since(f"{app_prefix(app)}{sink}", since_ms)


def app_prefix(app: str) -> str:
    """What the names of an app's cursors begin with."""
    return f"{app}/"


def is_of_app(name: str, app: str) -> bool:
    """Whether a cursor is an app's."""
    return name.startswith(app_prefix(app))
