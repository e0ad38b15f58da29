"""What names in the store say: a revision's, in which life of its app it was made; a cursor's, of
which app's output log since when it tells."""

from __future__ import annotations

from lockstep.events import Generation, Position
from lockstep.events.since import with_since


def revision_id(app: str, state: Generation, position: Position, unique: str) -> str:
    """The id of a revision: it says of which state it is. Where that began stands in front of what
    is unique, as earlier releases read the rest and take that as it is."""
    life = state.life
    return f"{app}.{life.deployed_ms}.{life.number}.{position}.{state.position}-{unique}"


def cursor_name(app: str, sink: str, since_ms: int) -> str:
    """Of a sink of an app, whose logs have been there since then (0: nobody knows)."""
    return with_since(f"{app_prefix(app)}{sink}", since_ms)


def app_prefix(app: str) -> str:
    """What the names of an app's cursors begin with."""
    return f"{app}/"


def is_of_app(name: str, app: str) -> bool:
    """Whether a cursor is an app's."""
    return name.startswith(app_prefix(app))
