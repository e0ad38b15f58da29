"""Plays a scenario on a VirtualApp, whole or cut: snapshot, restore and go on at any call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lockstep.events import Event, LockstepError, StreamSchema
from lockstep.execute.observe import Observation, QueryChunk, StreamChunk
from lockstep.plan import QueryNode
from lockstep.siddhiql.durations import duration_ms
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.testing.reasons import with_reason
from lockstep.testing.scenario import Call, Scenario, ScenarioError
from lockstep.testing.values import read_value, show_events, show_row, split_words
from lockstep.testing.virtual_app import VirtualApp, rehearsed

CALLS = ("@advance", "@query", "@publish", "@snap", "@restore", "@watch")
"""What a call line may be beside the name of a stream."""


def play(
    scenario: Scenario, *, executor: str = "reference", cut: int | None = None, parallel: int = 1
) -> list[list[str]]:
    """What each call brings, as lines. `cut`: before the call of that index the app is snapshotted,
    thrown away and restored. `parallel`: see VirtualApp."""
    _check_watched(scenario)
    player = _Player(scenario, executor, parallel)
    try:
        brought = []
        for index, call in enumerate(scenario.calls):
            if index == cut:
                player.cut()
            brought.append(player.call(call))
        return brought
    finally:
        player.app.close()


class _Player:
    """One app under test. The clock of live apps starts at 0 and is moved by @advance."""

    def __init__(self, scenario: Scenario, executor: str, parallel: int = 1) -> None:
        self._text = scenario.app_text
        self._watched = scenario.watched
        self._executor = executor
        self._parallel = parallel
        self.app = VirtualApp(self._text, executor=executor, parallel=parallel)
        self._kept: bytes | None = None
        self._outputs: dict[str, StreamSchema] = {}
        for node in self.app.plan.nodes:
            if isinstance(node, QueryNode) and any(
                a.name.lower() == "info" for a in node.query.query.annotations
            ):
                self._outputs[node.name] = node.query.output
        self._published = 0
        self._faults = 0

    def cut(self) -> None:
        """Goes on with a new app, restored from this one's state."""
        self._replace(self.app.snapshot())

    def _replace(self, snapshot: bytes) -> None:
        clock_ms = self.app.clock_ms
        self.app.close()
        self.app = VirtualApp.restore(
            self._text,
            snapshot,
            executor=self._executor,
            start_ms=clock_ms,
            parallel=self._parallel,
        )
        self._published = self._faults = 0

    def call(self, call: Call) -> list[str]:
        """Makes the call; the lines it brought."""
        before = len(self.app.observations)
        try:
            result = self._make(call.text)
        except ScenarioError as error:
            raise ScenarioError(f"{call.text}: {error}", where=f"line {call.line}") from error
        except LockstepError as error:
            result = [f"error: {error.message}"]
        except (ValueError, LookupError) as error:
            raise ScenarioError(f"{call.text}: {error}", where=f"line {call.line}") from error
        if call.text in ("@restore", "@snap"):
            return []
        seen = self.app.observations[before:]
        lines = [line for item in seen for line in self._observed(item)]
        return lines + result + self._rest()

    def _make(self, text: str) -> list[str]:
        word, _, rest = text.partition(" ")
        match word:
            case "@advance":
                self.app.advance(int(rest) if rest.isdecimal() else duration_ms(rest))
            case "@query":
                rows = self.app.on_demand(rest)
                return (
                    [f"result: {' '.join(show_row(row) for row in rows)}".strip()] if rows else []
                )
            case "@publish":
                topic, _, payload = rest.strip().partition(" ")
                if topic not in self.app.topics():
                    known = self.app.topics()
                    hint = did_you_mean(topic, known) if known else "the app has no sources"
                    raise ScenarioError(f"no source listens to topic {topic!r}", hint=hint)
                return [f"refused: {why}" for why in self.app.publish(topic, payload)]
            case "@snap":
                self._kept = self.app.snapshot()
            case "@restore":
                if self._kept is None:
                    raise ScenarioError("@restore without @snap")
                self._replace(self._kept)
            case _:
                self._send(word, rest)
        return []

    def _send(self, stream: str, text: str) -> None:
        schema = self.app.plan.checked.streams.get(stream)
        if schema is None:
            raise _unknown(stream, self.app.plan.checked.streams)
        rows, times, is_timed = [], [], False
        for time, *words in _parts(text):
            if len(words) != len(schema.types):
                names = ", ".join(attribute.name for attribute in schema.attributes)
                raise ScenarioError(
                    f"{_counted(len(words), 'value')} for "
                    f"{_counted(len(schema.types), 'attribute')}",
                    hint=f"behind {stream} stand a time (or -) and {names}",
                )
            is_timed = is_timed or time != "-"
            times.append(self.app.clock_ms if time == "-" else _time(time))
            rows.append([read_value(w, t) for w, t in zip(words, schema.types, strict=True)])
        self.app.send_many(stream, rows, timestamp_ms=times if is_timed else None)

    def _observed(self, seen: Observation) -> list[str]:
        if isinstance(seen, StreamChunk):
            if seen.stream not in self._watched:
                return []
            schema = self.app.plan.checked.streams.get(seen.stream)
            return [f"-> {seen.stream}: {show_events(seen.events, schema)}"]
        return self._query_line(seen)

    def _query_line(self, seen: QueryChunk) -> list[str]:
        schema = self._outputs.get(seen.query)
        if schema is None:
            return []
        parts = []
        if seen.expired:
            parts.append(f"X {show_events(seen.expired, schema)}")
        if seen.current:
            parts.append(f"C {show_events(seen.current, schema)}")
        return [f"{seen.query}: {'  '.join(parts)}"] if parts else []

    def _rest(self) -> list[str]:
        published = self.app.published()[self._published :]
        faults = self.app.faults()[self._faults :]
        self._published += len(published)
        self._faults += len(faults)
        lines = [f"topic {topic}: {_shown(payload)}" for topic, payload in published]
        for fault in faults:
            schema = self.app.plan.checked.streams.get(fault.stream)
            shown = f"fault: {fault.stream} {show_events(fault.events, schema)}".rstrip()
            lines.append(with_reason(shown, fault.reason))
        return lines


def _check_watched(scenario: Scenario) -> None:
    """A name that is none would never show anything, and pass."""
    if not scenario.watched:
        return
    checked = rehearsed(scenario.app_text).checked
    known = [*checked.streams, *checked.triggers, *checked.windows]
    for name, line in scenario.watched.items():
        if name not in known:
            raise ScenarioError(
                f"@watch {name}: there is no stream {name}",
                where=f"line {line}",
                hint=did_you_mean(name, known),
            )


def _parts(text: str) -> Iterator[list[str]]:
    """The words of each event of a call: the bars between them are words of their own."""
    words = split_words(text)
    while "|" in words:
        end = words.index("|")
        yield words[:end] or ["-"]
        words = words[end + 1 :]
    yield words or ["-"]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _time(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ScenarioError(
            f"{word!r} is no time", hint="write milliseconds, or - for now, before the values"
        ) from None


def _unknown(word: str, streams: Iterable[str]) -> ScenarioError:
    if word.startswith("@"):
        return ScenarioError(f"there is no call {word}", hint=f"there are {', '.join(CALLS)}")
    return ScenarioError(f"there is no stream {word}", hint=did_you_mean(word, streams))


def _shown(payload: Any) -> str:
    """A message: events as events, anything else as its text."""
    events = payload if isinstance(payload, list) else [payload]
    if all(isinstance(event, Event) for event in events):
        return show_events(events, None)
    return str(payload)
