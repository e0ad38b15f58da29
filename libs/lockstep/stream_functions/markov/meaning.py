"""`#markov:markovChain`: how probable the step from an id's last state to this one is."""

from __future__ import annotations

from lockstep.operators.contract import CURRENT, EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory
from lockstep.stream_functions.markov import TRANSITIONS_MAX, parse_matrix


class MarkovChain(Buffering):
    """Counts steps from state to state, and appends what was counted before this one.

    An id's last state is forgotten when `duration.to.keep` has passed by the app's clock. Without a
    matrix the first events, as many as the limit says, bring nothing.
    """

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._id_of, self._state_of = call.values[:2]
        self._train_of = call.values[5] if len(call.values) > 5 else lambda _: True
        self._keep_ms, self._threshold = int(call.constant(2)), float(call.constant(3))
        told = call.constant(4)
        self._hold = 0 if isinstance(told, str) else int(told)
        self._seen = 0
        self._last: dict[str, tuple[str, int]] = {}
        self._steps: dict[tuple[str, str], float] = {}
        self._starts: dict[str, float] = {}
        if isinstance(told, str):
            matrix = parse_matrix(told)
            for start, row in zip(matrix.states, matrix.rows, strict=True):
                self._starts[start] = sum(row)
                self._steps |= {
                    (start, to): each for to, each in zip(matrix.states, row, strict=True)
                }

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind > EXPIRED:
                out.append(event)
            elif event.kind == CURRENT:
                self._step(event, out)
        if out:
            self.emit(out)

    def _step(self, event: StreamEvent, out: list[StreamEvent]) -> None:
        key, state = self._id_of(event), self._state_of(event)
        if key is None or state is None:
            raise EventError("markov:markovChain takes no null id and no null state")
        now = self.context.now_ms()
        self._forget(now)
        last, _ = self._last.pop(key, (None, 0))
        self._last[key] = (state, now)  # the ids stand by when they were last seen
        self._seen += 1
        if self._seen > self._hold:
            added = self._told(last, state)
            out.append(StreamEvent(event.timestamp_ms, (*event.data, *added)))
        if last is not None and self._train_of(event) is True:
            self._count(last, state)

    def _forget(self, now_ms: int) -> None:
        while self._last:
            oldest = next(iter(self._last))
            if self._last[oldest][1] + self._keep_ms > now_ms:
                return
            del self._last[oldest]

    def _told(self, last: str | None, state: str) -> tuple[str | None, float, bool]:
        if last is None:
            return None, 0.0, False
        whole = self._starts.get(last, 0.0)
        probability = self._steps.get((last, state), 0.0) / whole if whole else 0.0
        return last, probability, probability <= self._threshold

    def _count(self, last: str, state: str) -> None:
        if (last, state) not in self._steps and len(self._steps) >= TRANSITIONS_MAX:
            raise EventError(f"markov:markovChain counts at most {TRANSITIONS_MAX} different steps")
        self._starts[last] = self._starts.get(last, 0.0) + 1.0
        self._steps[last, state] = self._steps.get((last, state), 0.0) + 1.0

    def snapshot(self) -> PlainState:
        """How many events came, the last states, and what was counted."""
        steps = [(*step, count) for step, count in self._steps.items()]
        last = [(key, *each) for key, each in self._last.items()]
        return (self._seen, last, list(self._starts.items()), steps)

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        self._seen, last, starts, steps = state
        self._last = {key: (found, at) for key, found, at in last}
        self._starts = dict(starts)
        self._steps = {(start, to): count for start, to, count in steps}


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("markov", "markovChain"): MarkovChain
}
