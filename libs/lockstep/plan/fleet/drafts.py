"""Groups while they are being made: which nodes, which streams, routed how. They grow together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lockstep.plan.fleet.contract import Routing, Together
from lockstep.plan.fleet.keys import text_of
from lockstep.siddhiql import ast


class Keep(Exception):
    """A node cannot be cut after all; the message says why."""

    def __init__(self, nodes: tuple[str, ...], because: str) -> None:
        super().__init__(because)
        self.nodes = nodes
        self.because = because


@dataclass
class Need:
    """How a group wants a stream: by a key, or without one all of it or its turns. `nulls`: events
    without a key count; a partition that tells neighbours apart looks over them."""

    key: ast.Expression | None
    where: ast.Expression | None = None
    together: Together | None = None
    routing: Routing = Routing.ALL
    nulls: bool = False

    @property
    def reaches_one(self) -> bool:
        """Each event gets to one partition."""
        return self.key is not None or self.routing is Routing.ROUND_ROBIN

    @property
    def is_all(self) -> bool:
        """Events without a key are there, too, and none is left out."""
        return self.where is None and self.together is not Together.RUNS

    @property
    def has_each_once(self) -> bool:
        """The group can give out what comes in."""
        return self.reaches_one and self.is_all

    def fits(self, other: Need) -> bool:
        """One routing can serve both."""
        return (
            _text(self.key) == _text(other.key)
            and self.routing is other.routing
            and _text(self.where) == _text(other.where)
            and (self.together is other.together or None in (self.together, other.together))
            and not (self.nulls and other.together is Together.RUNS)
            and not (other.nulls and self.together is Together.RUNS)
        )

    def joined(self, other: Need) -> Need:
        """What serves both."""
        together = self.together or other.together
        return replace(self, together=together, nulls=self.nulls or other.nulls)


def _text(expression: ast.Expression | None) -> str | None:
    return None if expression is None else text_of(expression)


@dataclass
class Draft:
    """A cut group in the making. `feeds`: what the input log brings; `channels`: what other groups
    bring; `inner`: what its own nodes write, with the key if it is known."""

    nodes: set[str] = field(default_factory=set)
    feeds: dict[str, Need] = field(default_factory=dict)
    channels: dict[str, Need] = field(default_factory=dict)
    inner: dict[str, Need] = field(default_factory=dict)

    def feed(self, stream: str, need: Need, node: str, *, channel: bool = False) -> None:
        """The group wants a stream; Keep where it has it in another way already."""
        feeds = self.channels if channel else self.feeds
        present = feeds.get(stream)
        if present is not None and not present.fits(need):
            raise Keep((node,), f"'{stream}' reaches its group by another key or cut otherwise")
        feeds[stream] = need if present is None else present.joined(need)

    def fits(self, other: Draft) -> bool:
        """Both can be one group."""
        return all(
            need.fits(theirs[stream])
            for mine, theirs in ((self.feeds, other.feeds), (self.channels, other.channels))
            for stream, need in mine.items()
            if stream in theirs
        )

    def shares_feed(self, other: Draft) -> bool:
        """Both read a stream by the same key."""
        return any(
            need.key is not None and stream in other.feeds for stream, need in self.feeds.items()
        )

    def take(self, other: Draft) -> None:
        """Becomes one with another group."""
        self.nodes |= other.nodes
        for mine, theirs in ((self.feeds, other.feeds), (self.channels, other.channels)):
            for stream, need in theirs.items():
                present = mine.get(stream)
                mine[stream] = need if present is None else present.joined(need)
        self.inner |= other.inner
