"""A pattern or sequence in motion: events and ticks in, matches out (semantics 12, 13).

Patterns skip what does not fit; in sequences an event must advance a token or the token is gone.
Matches leave when the whole arriving chunk has been played: each alone, but those that one event
completes in one state of a stream that the pattern reads several times leave as one chunk. What
one event or one match fails of is raised behind all others: no match is lost by it (semantics 18).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lockstep.operators.contract import (
    CURRENT,
    Context,
    Emit,
    MatchedEvent,
    PlainState,
    StreamEvent,
)
from lockstep.operators.errors import EVENT_ERRORS
from lockstep.patterns.meaning.chain import Leaf
from lockstep.patterns.meaning.progress import Progress
from lockstep.patterns.meaning.token import Token, decode_token, encode_token
from lockstep.selection.meaning import Torn, error_in
from lockstep.siddhiql.checked import CheckedPattern

SWEEP_MIN_TOKENS: Final = 256
"""Expired tokens that may lie about in the nodes' lists before they are swept out."""

Receive = Callable[[list[StreamEvent]], None]
Chunks = list[list[MatchedEvent]]


def _unconnected(chunk: list[MatchedEvent]) -> None:
    """What a machine emits to before its owner connects it."""


class PatternMachine:
    """One instance of a pattern (InputRuntime); partitions build one per key."""

    def __init__(self, pattern: CheckedPattern, context: Context) -> None:
        self.emit: Emit = _unconnected
        self._is_sequence = pattern.input.is_sequence
        self._progress = Progress(pattern, context, self)
        self._nodes = self._progress.nodes
        self._expired_tokens = 0
        context.register("pattern", self)

    def receivers(self) -> Sequence[tuple[str, Receive]]:
        """See operators.contract.InputRuntime: one per stream, however often the pattern has it."""
        sources = dict.fromkeys(leaf.source for leaf in self._progress.leaves)
        return [(source, self._receiver(source)) for source in sources]

    def _receiver(self, source: str) -> Receive:
        # Later states first, so that one event cannot move a token twice (12.1 rule 7); of a
        # logical state the left side first.
        leaves = [leaf for leaf in self._progress.leaves if leaf.source == source]
        leaves.sort(key=lambda leaf: (-leaf.node.index, leaf.side))
        play = self._play_adjacent if self._is_sequence else self._play_skipping

        def receive(chunk: list[StreamEvent]) -> None:
            progress = self._progress
            progress.take_matches()  # of a chunk that went over a limit
            progress.failure = None
            out: Chunks = []
            for event in chunk:
                if event.kind == CURRENT:
                    play(leaves, event, out)
            failed, progress.failure = progress.failure, None
            self._emit_all(out, error_in(chunk), failed)

        return receive

    def _emit_all(
        self,
        chunks: Chunks,
        torn: BaseException | None = None,
        failed: BaseException | None = None,
    ) -> None:
        """Emits each chunk, also behind one that fails, and then raises the first error. If the
        arriving chunk came `torn`, its matches enter aggregates and bring no rows. If a condition
        has `failed` here, all matches are right ones."""
        first = torn or failed
        for matches in chunks:
            try:
                self.emit(matches if torn is None else Torn(matches, torn))
            except EVENT_ERRORS as error:
                first = first or error
        if first is not None:
            raise first

    def start(self) -> None:
        for node in self._nodes:
            node.start()
        self._nodes[0].arrive(self._progress.fresh())
        self._settle()

    def on_timer(self, due_ms: int) -> None:
        """See operators.contract.TimerTarget. Matches of a tick leave one by one."""
        for node in reversed(self._nodes):
            node.on_timer(due_ms)
        if self._is_sequence:
            for node in self._nodes:
                node.sweep()
        self._emit_all([[match] for match in self._progress.take_matches()])

    # --- events ----------------------------------------------------------------------------------

    def _play_skipping(self, leaves: list[Leaf], event: StreamEvent, out: Chunks) -> None:
        """One event of a pattern."""
        self._expire(event)
        for leaf in leaves:
            leaf.node.settle()
        self._take(leaves, event, out)

    def _play_adjacent(self, leaves: list[Leaf], event: StreamEvent, out: Chunks) -> None:
        """One event of a sequence: whom it does not advance is gone (13)."""
        self._expire(event)
        if self._progress.ageing is not None:
            self._rearm()
        self._renew()
        before = []
        for node in self._nodes:
            node.kept = []
            before += node.pending
        self._progress.in_event = True
        try:
            self._take(leaves, event, out)
        finally:
            self._progress.in_event = False
        for node in self._nodes:
            node.close()
        left = {id(token) for node in self._nodes for token in node.pending}
        for token in before:
            if id(token) not in left:
                token.alive = False
        self._renew()

    def _take(self, leaves: list[Leaf], event: StreamEvent, out: Chunks) -> None:
        for leaf in leaves:
            leaf.node.take(leaf.side, event)
            matches = self._progress.take_matches()
            if matches:
                out.extend([matches] if len(leaves) > 1 else [[match] for match in matches])

    def _renew(self) -> None:
        """Sequences under `every`: an empty token stands at the beginning for the next event."""
        first = self._nodes[0]
        if self._progress.repeats(0) and first.wants_fresh():
            first.arrive(self._progress.fresh())
            self._settle()

    def _rearm(self) -> None:
        """Sequences whose first state may stay empty: an empty token that an older one kept out of
        the next state makes room for one that may come there, as the older one may be too old now.
        """
        first, *others = self._nodes
        if not (first.is_optional and self._progress.repeats(0) and len(first.pending) == 1):
            return
        (token,) = first.pending
        if token.first_ms is None and not any(token in node.pending for node in others):
            token.alive = False
            first.pending = []

    def _settle(self) -> None:
        for node in self._nodes:
            node.settle()

    def _expire(self, event: StreamEvent) -> None:
        """Tokens that are too old by `within` are dropped before the event is looked at (12.2)."""
        ageing = self._progress.ageing
        tokens = [] if ageing is None else ageing.expired(event.timestamp_ms)
        if not tokens:
            return
        for token in tokens:
            self._progress.abandon(token)
        self._expired_tokens += len(tokens)
        waiting = sum(len(node.pending) for node in self._nodes)
        if self._is_sequence or self._expired_tokens > SWEEP_MIN_TOKENS + waiting // 2:
            self._expired_tokens = 0
            for node in self._nodes:
                node.sweep()

    # --- state -----------------------------------------------------------------------------------

    def snapshot(self) -> PlainState:
        """Tokens once each, and by node who waits there: a token may stand at two nodes."""
        tokens: dict[int, Token] = {}
        for node in self._nodes:
            node.sweep()
            for token in (*node.pending, *node.arriving):
                tokens.setdefault(id(token), token)
        number = {key: n for n, key in enumerate(tokens)}
        places = [
            (
                [number[id(token)] for token in node.pending],
                [number[id(token)] for token in node.arriving],
                node.snapshot(),
            )
            for node in self._nodes
        ]
        return ([encode_token(token) for token in tokens.values()], places)

    def restore(self, state: PlainState) -> None:
        encoded, places = state
        tokens = [decode_token(token) for token in encoded]
        for node, (pending, arriving, own) in zip(self._nodes, places, strict=True):
            node.pending = [tokens[n] for n in pending]
            node.arriving = [tokens[n] for n in arriving]
            node.restore(own)
        if self._progress.ageing is not None:
            self._progress.ageing.refill(tokens)
