"""expressionBatch('condition' [, include.triggering.event [, stream.current.event]]): collects
while a condition holds (semantics 7.15)."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.windows.chunks import batch_chunk
from lockstep.windows.registry import WindowCall
from lockstep.windows.running_condition import ConditionedWindow
from lockstep.windows.taking import Taking


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
        taking = Taking(self.emit)
        for event in chunk:
            with taking:
                if self._text_of is not None and self._changes(self._text_of(event)):
                    self._judge_anew(taking)
                self._take(event, taking)
        taking.end()

    def _judge_anew(self, taking: Taking) -> None:
        """What is held, under a new condition. In streaming form it went on before."""
        assert self._condition is not None
        collected, self._open = self._open, []
        self._is_spoilt = False
        for event in collected:
            with taking:
                if self._streams:
                    self._open.append(event)
                    self._condition.enter(event)
                else:
                    self._take(event, taking)

    def _take(self, event: StreamEvent, taking: Taking) -> None:
        """Where the condition fails of the event, it was never here."""
        try:
            self._judge(event, taking)
        except PROCESSING_ERRORS:
            if self._condition is not None:
                self._condition.undo(event)
            raise

    def _judge(self, event: StreamEvent, taking: Taking) -> None:
        if self._continues(event, taking):
            self._open.append(event)
            if self._streams:
                taking.emit([event])
        elif self._includes(event) is True:
            self._open.append(event)
            self._forget()
            self._close(taking, [event] if self._streams else [])
        elif self._open:
            self._begin(event, taking)
        else:
            self._leave_at_once(event, taking)

    def _begin(self, event: StreamEvent, taking: Taking) -> None:
        """The event closes the batch, and stands in the next one."""
        self._forget()
        spoilt = False
        if self._condition is not None:
            try:
                self._condition.enter(event)
                spoilt = not self._condition.holds(event, event)
            except PROCESSING_ERRORS:
                self._close(taking, [])
                raise
        self._close(taking, [], followed_by=event)
        self._is_spoilt = spoilt
        self._open.append(event)

    def _forget(self) -> None:
        """The condition begins anew with the next batch."""
        self._is_spoilt = False
        if self._condition is not None:
            self._condition.clear()

    def _leave_at_once(self, event: StreamEvent, taking: Taking) -> None:
        """Nothing is held, and the event makes the condition false by itself."""
        now = self.context.now_ms()
        if self._condition is not None:
            self._condition.clear()
            self._condition.enter(event)
        previous, self._last = self._last, []
        came = StreamEvent(now, event.data)
        taking.emit([*batch_chunk([*previous, came], [], now, with_reset=False), came])

    def _continues(self, event: StreamEvent, taking: Taking) -> bool:
        """Whether the batch goes on with the event, which has been fed to the aggregators."""
        if self._flag_of is not None:
            return self._flag_of(event) is not True
        condition = self._condition
        assert condition is not None
        condition.enter(event)
        first = self._open[0] if self._open else event
        return not self._is_spoilt and self._holds(first, event, taking)

    def _close(
        self,
        taking: Taking,
        passing: list[StreamEvent],
        followed_by: StreamEvent | None = None,
    ) -> None:
        """Emits the batch; in streaming form `passing` stands in front and `followed_by` behind."""
        now = self.context.now_ms()
        batch, self._open = self._open, []
        if self._streams:
            behind = [] if followed_by is None else [followed_by]
            taking.emit([*passing, *batch_chunk(batch, [], now, with_reset=False), *behind])
            return
        batch = [StreamEvent(now, event.data) for event in batch]
        previous, self._last = self._last, batch
        taking.emit(batch_chunk(previous, batch, now, with_reset=False))

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
