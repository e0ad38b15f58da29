"""expressionBatch('condition' [, include.triggering.event [, stream.current.event]]): collects
while a condition holds (semantics 7.15)."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.windows.chunks import batch_chunk
from lockstep.windows.registry import WindowCall
from lockstep.windows.running_condition import ConditionedWindow


class ExpressionBatchWindow(ConditionedWindow):
    """The event that makes the condition false closes the batch and starts the next one, or, with
    include.triggering.event, is the last of the closing one. No RESET; each batch is a chunk.

    An event that makes the condition false while nothing is held comes and leaves at once. One that
    does so behind others is a batch of one, which the next event closes, whatever that is. A bool
    attribute as argument closes the batch when it is true; a text attribute is the condition of the
    moment: when it changes, what is held is judged anew.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._includes = call.value(1) if len(call) > 1 else (lambda event: False)
        self._streams = bool(call.constant(2, False))
        self._open: list[StreamEvent] = []
        self._last: list[StreamEvent] = []
        self._is_spoilt = False
        has_flag = self._condition is None and self._text_of is None
        self._flag_of = call.value(0) if has_flag else None

    def process(self, chunk: list[StreamEvent]) -> None:
        for event in chunk:
            if self._text_of is not None and self._changes(self._text_of(event)):
                assert self._condition is not None
                collected, self._open = self._open, []
                self._is_spoilt = False
                for held in collected:
                    self._take_anew(held)
            self._take(event)

    def _take(self, event: StreamEvent) -> None:
        if self._continues(event):
            self._collect(event)
            if self._streams:
                self.emit([event])
        elif self._includes(event) is True:
            self._collect(event)
            self._close([event] if self._streams else [])
        else:
            if self._open:
                self._close([], followed_by=event)
                if self._condition is not None:
                    self._condition.enter(event)
                    self._is_spoilt = not self._condition.holds(event, event)
            else:
                self._leave_at_once(event)
                return
            self._collect(event)

    def _take_anew(self, event: StreamEvent) -> None:
        """An event that is held, under a new condition. In streaming form it went on before."""
        if not self._streams:
            self._take(event)
            return
        assert self._condition is not None
        self._condition.enter(event)
        self._collect(event)

    def _leave_at_once(self, event: StreamEvent) -> None:
        """Nothing is held, and the event makes the condition false by itself."""
        now = self.context.now_ms()
        if self._condition is not None:
            self._condition.clear()
            self._condition.enter(event)
        previous, self._last = self._last, []
        came = StreamEvent(now, event.data)
        self.emit([*batch_chunk([*previous, came], [], now, with_reset=False), came])

    def _collect(self, event: StreamEvent) -> None:
        self._open.append(event)

    def _continues(self, event: StreamEvent) -> bool:
        """Whether the batch goes on with the event, which has been fed to the aggregators."""
        if self._flag_of is not None:
            return self._flag_of(event) is not True
        condition = self._condition
        assert condition is not None
        condition.enter(event)
        return not self._is_spoilt and condition.holds(
            self._open[0] if self._open else event, event
        )

    def _close(self, passing: list[StreamEvent], followed_by: StreamEvent | None = None) -> None:
        """Emits the batch; in streaming form `passing` stands in front and `followed_by` behind."""
        now = self.context.now_ms()
        batch, self._open = self._open, []
        self._is_spoilt = False
        if self._condition is not None:
            self._condition.clear()
        if self._streams:
            behind = [] if followed_by is None else [followed_by]
            self.emit([*passing, *batch_chunk(batch, [], now, with_reset=False), *behind])
            return
        batch = [StreamEvent(now, event.data) for event in batch]
        previous, self._last = self._last, batch
        self.emit(batch_chunk(previous, batch, now, with_reset=False))

    def content(self) -> Iterable[StreamEvent]:
        """The open batch."""
        return self._open

    def snapshot(self) -> PlainState:
        """The batches, and the condition with its aggregators."""
        return (list(self._open), list(self._last), self._is_spoilt, self._saved_condition())

    def restore(self, state: PlainState) -> None:
        collected, last, self._is_spoilt, condition = state
        self._open, self._last = list(collected), list(last)
        self._load_condition(condition)
