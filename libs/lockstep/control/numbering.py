"""Which numbers the sinks of a new text have: a sink that the text before had as well keeps its
number, wherever it stands now, and with it its cursor. Decided when a text is deployed. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from lockstep.events import Fault, LockstepError
from lockstep.mapping import destinations
from lockstep.plan import AppPlan
from lockstep.siddhiql import ast
from lockstep.store import NO_NUMBERS, NumberedSink, SinkNumbers

MAX_PAST: Final = 50
"""So many sinks that were taken out are known of each stream, those with the highest numbers."""

_PLACE: Final = frozenset(
    {
        "agent.port", "aws.region", "bootstrap.servers", "bucket.name", "datasource",
        "destination", "endpoint", "exchange.name", "file.uri", "host", "jdbc.url", "job",
        "metric.name", "object.name", "object.path", "port", "project.id", "provider.url",
        "publisher.url", "push.url", "queue", "region", "routing.key", "server.url",
        "server.urls", "sink.id", "source.id", "statement", "stream.name", "table.name", "to",
        "topic", "topic.id", "uri", "url",
    }
)  # fmt: skip
"""Options that say where a sink delivers. With another name among them, sinks are known by all that
they say until they are deployed again."""


class UnclearSinksError(LockstepError):
    """Nobody can tell which sinks of the text before are taken out, and which go on."""

    fault = Fault.USER


def sinks_written(plan: AppPlan) -> Iterator[tuple[str, Sequence[ast.Annotation]]]:
    """The `@sink`s of each stream that has some, in the order of the text."""
    definitions = {
        one.name: one
        for one in plan.checked.app.definitions
        if isinstance(one, ast.StreamDefinition)
    }
    for name in plan.exported:
        annotations = definitions[name].annotations if name in definitions else ()
        if found := [one for one in annotations if one.name.lower() == "sink"]:
            yield name, found


def numbers_after(
    before: SinkNumbers, old: AppPlan | None, new: AppPlan, *, refuses: bool = True
) -> SinkNumbers:
    """The numbers in a new text, behind those in the text before (`old`; None where there is none,
    or nobody can read it). UnclearSinksError, unless a sink shall go on by its place in the text.
    """
    if not before.now and old is not None:
        before = replace(before, now=tuple(_in_order(old)))
    written = list(_in_order(new))
    now: list[NumberedSink] = []
    past: list[NumberedSink] = []
    for stream in dict.fromkeys(one.stream for one in (*written, *before.now, *before.past)):
        there = _Stream(_of(before.now, stream), _of(before.past, stream))
        there.go_on(_of(written, stream), refuses=refuses)
        now += there.now
        past += there.forgotten()
    if not past and now == written:
        return NO_NUMBERS
    return SinkNumbers(tuple(now), tuple(past))


def is_in_order(numbers: SinkNumbers) -> bool:
    """Each sink has the number of its place in the text."""
    found = {one.stream: _of(numbers.now, one.stream) for one in numbers.now}
    return all(one.number == at for sinks in found.values() for at, one in enumerate(sinks))


def taken_out(before: SinkNumbers, old: AppPlan, after: SinkNumbers, new: AppPlan) -> list[str]:
    """The names of the sinks that the text before has and the new one has not."""
    there = [one.name for one in before.now or _in_order(old)]
    stay = {one.name for one in after.now or _in_order(new)}
    return [name for name in there if name not in stay]


class _Stream:
    """The sinks of one stream, matched."""

    def __init__(self, present: Iterable[NumberedSink], past: Iterable[NumberedSink]) -> None:
        self._present = list(present)
        self._past = list(past)
        self._before = [*self._present, *self._past]
        self._free = list(self._present)
        self._found: dict[int, int] = {}
        """Numbers by the place in the text."""
        self.now: list[NumberedSink] = []

    def go_on(self, written: Sequence[NumberedSink], *, refuses: bool) -> None:
        """Gives each its number."""
        self._match(written, self._present, is_whole=True)
        self._match(written, self._away(), is_whole=True)
        if refuses:
            self._refuse_unclear_places(written)
        self._match(written, self._present, is_whole=False)
        for is_whole in (True, False):
            self._match(written, self._past, is_whole=is_whole)
        for kind in dict.fromkeys(one.type for one in written):
            self._match_in_order(written, kind, refuses=refuses)
        unused = max((one.number for one in self._before), default=-1) + 1
        for at, one in enumerate(written):
            if at not in self._found:
                self._found[at] = unused
                unused += 1
            self.now.append(replace(one, number=self._found[at]))

    def forgotten(self) -> list[NumberedSink]:
        """What is known of sinks that are not there now, or delivered elsewhere."""
        stay = {(one.number, one.place) for one in self.now}
        gone = [one for one in self._before if (one.number, one.place) not in stay]
        return sorted(gone, key=lambda one: -one.number)[:MAX_PAST]

    def _away(self) -> list[NumberedSink]:
        """What was taken out, as it was last. Where it comes back so, no other sink of its place is
        taken for it."""
        last = {one.number: one for one in reversed(self._past)}
        here = {one.number for one in self._present}
        return [one for number, one in last.items() if number not in here]

    def _match(
        self, written: Sequence[NumberedSink], known: Sequence[NumberedSink], *, is_whole: bool
    ) -> None:
        """By what they say, or by where they deliver."""
        for at, one in enumerate(written):
            if at in self._found:
                continue
            taken = set(self._found.values())
            for each in known:
                alike = each.whole == one.whole if is_whole else each.place == one.place
                if alike and each.type == one.type and each.number not in taken:
                    self._take(at, each.number)
                    break

    def _refuse_unclear_places(self, written: Sequence[NumberedSink]) -> None:
        """Several sinks of one place are told by all that they say. Where that has changed and some
        are gone, one would go on from the cursor of another."""
        places = [(one.type, one.place) for at, one in enumerate(written) if at not in self._found]
        for place in dict.fromkeys(places):
            left = [one for one in self._free if (one.type, one.place) == place]
            if len(left) > (count := places.count(place)):
                raise _unclear(
                    left,
                    f"are taken out or deliver elsewhere now, and {count} may say something else",
                    "take sinks out in one deployment, change others in another",
                )  # fmt: skip

    def _match_in_order(self, written: Sequence[NumberedSink], kind: str, *, refuses: bool) -> None:
        """What is left of a type delivers elsewhere now."""
        left = [one for one in self._free if one.type == kind]
        new = [at for at, one in enumerate(written) if one.type == kind and at not in self._found]
        if refuses and len(left) > len(new) > 0:
            raise _unclear(
                left, f"are taken out, and {len(new)} may deliver elsewhere now",
                "take sinks out in one deployment, change where others deliver in another",
            )  # fmt: skip
        for at, one in zip(new, left, strict=False):
            self._take(at, one.number)

    def _take(self, at: int, number: int) -> None:
        self._found[at] = number
        self._free = [one for one in self._free if one.number != number]


def _unclear(left: Sequence[NumberedSink], what: str, hint: str) -> UnclearSinksError:
    names = ", ".join(one.name for one in left)
    return UnclearSinksError(
        f"of the {len(left)} sinks {names} some {what}: which is not clear",
        where=left[0].stream, hint=hint,
    )  # fmt: skip


def _in_order(plan: AppPlan) -> Iterator[NumberedSink]:
    """As a text without numbers has them."""
    for stream, found in sinks_written(plan):
        for number, annotation in enumerate(found):
            kind = annotation.get("type") or "none"
            whole = _fingerprint(_all_of(annotation))
            places = [_place(one) for one in destinations(annotation)]
            place = _fingerprint(places) if any(places) else whole
            yield NumberedSink(stream, kind, number, place, whole)


def _of(sinks: Iterable[NumberedSink], stream: str) -> list[NumberedSink]:
    return [one for one in sinks if one.stream == stream]


def _place(annotation: ast.Annotation) -> list[tuple[str, str]]:
    given = ((one.key or "", one.value) for one in annotation.elements)
    return sorted((key.lower(), value) for key, value in given if key.lower() in _PLACE)


def _all_of(annotation: ast.Annotation) -> list[Any]:
    elements = [((one.key or "").lower(), one.value) for one in annotation.elements]
    nested = [_all_of(one) for one in annotation.annotations]
    return [annotation.name.lower(), sorted(elements, key=lambda one: one[0]), nested]


def _fingerprint(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
