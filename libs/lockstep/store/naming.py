"""What names in the store say: a revision's, in which life of its app it was made; a cursor's, of
which app's output log since when it tells; a placement's, whose unit it places."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from lockstep.events import Generation, Position
from lockstep.events.since import with_since

UNIT_SEPARATOR: Final = "\x1f"
"""Between the app, the group and the partition of a unit."""

LAYOUT_SIGN: Final = "~"
"""Between a group's name and the layout in whose logs it is."""


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


def is_unit_of(key: str, app: str) -> bool:
    """Whether a placement is the app's own or that of one of its units."""
    return key == app or key.startswith(f"{app}{UNIT_SEPARATOR}")


def owner_of(name: str, apps: Container[str]) -> str | None:
    """Of which of these apps a cursor is. A name may hold any character: where an app is called
    `a` and another one `a/b`, what begins with both is the longer one's."""
    end = name.rfind("/")
    while end >= 0:
        if name[:end] in apps:
            return name[:end]
        end = name.rfind("/", 0, end)
    return None
