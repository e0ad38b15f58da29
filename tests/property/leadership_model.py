"""Two replicas, one output log, one lease server, all their interleavings: a model to explore.

Every request to the log may land at any time, also after its sender has given it up; answers may
be lost; the lease may end at any moment (expiry, flush, a jump of its server's clock); replicas
crash and begin anew, and are taken for dead, rightly or not. The log checks the expected sequence
and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from lockstep.events import OutputId
from lockstep.leader.protocol import (
    START,
    Candidate,
    Claiming,
    Leading,
    Rules,
    Standby,
    State,
    Yielding,
    advance,
)
from lockstep.leader.protocol.facts import (
    AppendAccepted,
    AppendRefused,
    AppendUnknown,
    ClaimAccepted,
    ClaimRefused,
    ClaimUnknown,
    DeferenceChanged,
    Fact,
    HandOverRequested,
    HolderDied,
    LeaseAcquired,
    LeaseGivenBack,
    LeaseLost,
    LeaseRefused,
    LeaseRenewed,
    LeaseUnavailable,
    ReadinessChanged,
    RowsHeld,
    Tail,
    TailRead,
    TailUnavailable,
    TimePassed,
)
from lockstep.leader.protocol.instructions import (
    AcquireLease,
    AppendClaim,
    HandOverLease,
    Instruction,
    Publish,
    ReadTail,
    ReleaseLease,
    RenewLease,
    TrimHeld,
)

RECORDS = 3
RULES = Rules(0, 0, 0, 0)  # whatever can be tried is tried: interleavings take the place of time
RESERVED = 10
NOBODY = -1
OTHER = "the other replica"
"""The token of each acquisition: that two cannot be told apart is worse than it ever is."""
LEASE_INSTRUCTIONS = (AcquireLease, RenewLease, ReleaseLease, HandOverLease)
HOLDING = (Candidate, Claiming, Leading, Yielding)

T = TypeVar("T")


class ViolationError(AssertionError):
    """An invariant is broken."""


class Interned(Generic[T]):
    """Small numbers for values, so that worlds are tuples of numbers and quick to compare."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}
        self.values: list[T] = []

    def number(self, value: T) -> int:
        """Always the same for equal values."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found


class Append(NamedTuple):
    """A message on its way to the log: a claim, or rows from `first` to `last`."""

    epoch: int
    expected: int
    first: int = 0
    last: int = 0


class Request(NamedTuple):
    """An instruction under way. `message`: not landed yet; `answer`: landed, its fact not told."""

    instruction: int
    message: Append | tuple[()] = ()
    answer: int = -1


class Node(NamedTuple):
    """A replica: protocol state (-1: crashed), records folded, rows known to be published."""

    state: int
    folded: int = 0
    trimmed: int = 0
    requests: tuple[Request, ...] = ()


CRASHED = Node(-1)


class Budget(NamedTuple):
    """How many faults of each kind may still happen."""

    lease_ends: int = 0
    crashes: int = 0
    lost_answers: int = 0
    lease_outages: int = 0
    hand_overs: int = 0
    deaths: int = 0
    unready: int = 0
    """How many of the replicas begin without being ready; a newborn one is ready."""

    def without(self, kind: str) -> Budget:
        """One fault of a kind has happened."""
        return self._replace(**{kind: getattr(self, kind) - 1})


class World(NamedTuple):
    """Everything. `lease`: nobody, a node, or reserved for a node (10 + node)."""

    log: tuple[Append, ...]
    lease: int
    nodes: tuple[Node, Node]
    ghosts: tuple[Append, ...]
    budget: Budget


@dataclass(frozen=True)
class Broken:
    """Rules switched off on purpose, to see that the checker sees."""

    sequence_check: bool = False
    trimming: bool = False
    stepping_down: bool = False


def tail_of(log: tuple[Append, ...]) -> Tail:
    """What the log's last record tells."""
    last = max((entry.last for entry in log), default=0)
    return Tail(len(log), log[-1].epoch if log else 0, OutputId(last, 0) if last else None)


def check(log: tuple[Append, ...]) -> None:
    """Each identity stands once, in order, none is missing; epochs never fall."""
    expected, epoch = 1, 0
    for entry in log:
        if entry.epoch < epoch:
            raise ViolationError(f"epoch {entry.epoch} wrote after {epoch}: {log}")
        epoch = entry.epoch
        if entry.first:
            if entry.first != expected:
                raise ViolationError(f"row {entry.first} where {expected} belongs: {log}")
            expected = entry.last + 1


class Model:
    """The successors of a world.

    With `all_renewals` off a renewal is made only when it brings news: one that finds the lease
    where it was leads back to the same world.
    """

    def __init__(self, broken: Broken, *, all_renewals: bool) -> None:
        self._broken = broken
        self._all_renewals = all_renewals
        self._states: Interned[State] = Interned()
        self._facts: Interned[Fact] = Interned()
        self._instructions: Interned[Instruction] = Interned()
        self._advanced: dict[tuple[int, int], tuple[int, tuple[Instruction, ...]]] = {}
        self.ways: set[tuple[type, type, type]] = set()
        self._landed: dict[tuple[tuple[Append, ...], Append], tuple[tuple[Append, ...], int]] = {}
        self._tails: dict[tuple[Append, ...], int] = {}
        self._time = self._facts.number(TimePassed(0))
        self._held = [self._facts.number(RowsHeld(OutputId(i, 0))) for i in range(RECORDS + 1)]
        own = replace(START.own, ready=True)
        self.newborn = Node(self._states.number(Standby(own)))
        self._died = self._facts.number(HolderDied(OTHER))
        self._ready = self._facts.number(ReadinessChanged(True))
        waiting = replace(START.own, ready=False, defers=True)
        self.unready = Node(self._states.number(Standby(waiting)))

    def successors(self, world: World) -> Iterator[World]:
        """Every world that one step leads to."""
        for index, node in enumerate(world.nodes):
            if node.state < 0:
                yield _with(world, index, self.newborn)
                continue
            state = self._states.values[node.state]
            yield from self._own_steps(world, index, node, state)
            yield from self._request_steps(world, index, node)
            yield from self._faults(world, index, node)
        for i, ghost in enumerate(world.ghosts):
            rest = world.ghosts[:i] + world.ghosts[i + 1 :]
            yield world._replace(log=self._land(world.log, ghost)[0], ghosts=rest)
        yield from self._lease_ends(world)

    def _lease_ends(self, world: World) -> Iterator[World]:
        if world.lease == NOBODY:
            return
        node = world.nodes[world.lease % RESERVED]
        believed = node.state >= 0 and (
            isinstance(self._states.values[node.state], HOLDING)
            or any(
                isinstance(self._instructions.values[r.instruction], AcquireLease)
                for r in node.requests
            )
        )
        if world.lease >= RESERVED or not believed:
            yield world._replace(lease=NOBODY)  # nobody renews it: it runs out, fault or not
        elif world.budget.lease_ends:
            yield world._replace(lease=NOBODY, budget=world.budget.without("lease_ends"))

    def _deaths(self, world: World, index: int, node: Node) -> Iterator[World]:
        """A standby hears that the holder has died, be it true or not."""
        if world.lease == 1 - index and world.budget.deaths:
            spent = world._replace(budget=world.budget.without("deaths"))
            yield self._tell(spent, index, node, self._died)

    def _own_steps(self, world: World, index: int, node: Node, state: State) -> Iterator[World]:
        if node.folded < RECORDS:
            folded = node._replace(folded=node.folded + 1)
            yield self._tell(world, index, folded, self._held[folded.folded])
        if self._all_renewals or world.lease != index or not _only_renews(state):
            yield self._tell(world, index, node, self._time)
        if isinstance(state, Standby):
            yield self._tell(world, index, node, self._tail(world.log))
            yield from self._deaths(world, index, node)
        if not state.own.ready:
            yield self._tell(world, index, node, self._ready)
            yield self._tell(world, index, node, self._facts.number(DeferenceChanged(False)))
        if isinstance(state, Leading) and world.budget.hand_overs:
            spent = world._replace(budget=world.budget.without("hand_overs"))
            yield self._tell(
                spent, index, node, self._facts.number(HandOverRequested(str(1 - index)))
            )

    def _request_steps(self, world: World, index: int, node: Node) -> Iterator[World]:
        lease_seen = False
        for i, request in enumerate(node.requests):
            rest = node._replace(requests=node.requests[:i] + node.requests[i + 1 :])
            instruction = self._instructions.values[request.instruction]
            if isinstance(instruction, LEASE_INSTRUCTIONS):
                if not lease_seen:  # one after another
                    lease, fact = _lease_answer(world.lease, index, instruction)
                    yield self._tell(
                        world._replace(lease=lease), index, rest, self._facts.number(fact)
                    )
                lease_seen = True
            elif isinstance(instruction, ReadTail):
                yield self._tell(world, index, rest, self._tail(world.log))
            elif request.answer >= 0:
                yield self._tell(world, index, rest, request.answer)
            elif request.message:
                log, answer = self._land(world.log, request.message)
                landed = Request(request.instruction, (), answer)
                requests = (*node.requests[:i], landed, *node.requests[i + 1 :])
                yield _with(world._replace(log=log), index, node._replace(requests=requests))

    def _faults(self, world: World, index: int, node: Node) -> Iterator[World]:
        budget = world.budget
        if budget.crashes:
            flying = tuple(r.message for r in node.requests if r.message)
            ghosts = tuple(sorted((*world.ghosts, *flying)))
            gone = world._replace(ghosts=ghosts, budget=budget.without("crashes"))
            yield _with(gone, index, CRASHED)
        for i, request in enumerate(node.requests):
            rest = node._replace(requests=node.requests[:i] + node.requests[i + 1 :])
            instruction = self._instructions.values[request.instruction]
            if isinstance(instruction, AcquireLease | RenewLease):
                if budget.lease_outages:
                    spent = world._replace(budget=budget.without("lease_outages"))
                    yield self._tell(spent, index, rest, self._facts.number(LeaseUnavailable()))
                    lease, _ = _lease_answer(world.lease, index, instruction)
                    spent = spent._replace(lease=lease)
                    yield self._tell(spent, index, rest, self._facts.number(LeaseUnavailable()))
            elif budget.lost_answers and not isinstance(instruction, LEASE_INSTRUCTIONS):
                spent = world._replace(budget=budget.without("lost_answers"))
                if request.message:
                    ghosts = tuple(sorted((*world.ghosts, request.message)))
                    spent = spent._replace(ghosts=ghosts)
                yield self._tell(spent, index, rest, self._facts.number(_unknown(instruction)))

    def _tail(self, log: tuple[Append, ...]) -> int:
        if log not in self._tails:
            self._tails[log] = self._facts.number(TailRead(tail_of(log)))
        return self._tails[log]

    def _land(self, log: tuple[Append, ...], message: Append) -> tuple[tuple[Append, ...], int]:
        key = (log, message)
        if key not in self._landed:
            after, answer = self._checked(log, message)
            self._landed[key] = after, self._facts.number(answer)
        return self._landed[key]

    def _checked(self, log: tuple[Append, ...], message: Append) -> tuple[tuple[Append, ...], Fact]:
        claim = message.first == 0
        if len(log) != message.expected and not self._broken.sequence_check:
            tail = tail_of(log)
            return log, ClaimRefused(tail) if claim else AppendRefused(tail)
        log = (*log, message)
        check(log)
        if claim:
            return log, ClaimAccepted(message.epoch, len(log))
        return log, AppendAccepted(len(log), OutputId(message.last, 0))

    def _tell(self, world: World, index: int, node: Node, fact: int) -> World:
        key = (node.state, fact)
        if key not in self._advanced:
            self._advanced[key] = self._advance(node.state, self._facts.values[fact])
        following, instructions = self._advanced[key]
        node = Node(following, node.folded, node.trimmed, node.requests)
        for instruction in instructions:
            node = self._carried_out(node, instruction)
        return _with(world, index, node)

    def _advance(self, number: int, fact: Fact) -> tuple[int, tuple[Instruction, ...]]:
        state = self._states.values[number]
        deaf = self._broken.stepping_down and isinstance(state, Leading)
        if deaf and isinstance(fact, AppendRefused) and isinstance(state, Leading):
            # Takes every refusal for an append of its own whose answer was lost.
            fact = AppendRefused(replace(fact.tail, epoch=state.permit.epoch))
        after, instructions = advance(state, fact, RULES)
        asks = any(isinstance(one, AcquireLease) for one in instructions)
        if asks and isinstance(state, Standby) and not after.own.may_ask:
            raise ViolationError(f"asks for the lead that belongs to a ready one: {after}")
        if type(after) is not type(state):
            self.ways.add((type(state), type(after), type(fact)))
        return self._states.number(after), instructions

    def _carried_out(self, node: Node, instruction: Instruction) -> Node:
        message: Append | tuple[()] = ()
        match instruction:
            case TrimHeld(up_to):
                if self._broken.trimming:
                    return node
                return node._replace(trimmed=max(node.trimmed, up_to.position))
            case AppendClaim(epoch, expected):
                message = Append(epoch, expected)
            case Publish(permit, after):
                known = 0 if self._broken.trimming or after is None else after.position
                first = max(known, node.trimmed) + 1
                if first > node.folded:
                    raise ViolationError(f"told to publish nothing: {node}")
                message = Append(permit.epoch, permit.expected_sequence, first, node.folded)
            case AcquireLease() | RenewLease() | ReleaseLease() | HandOverLease() | ReadTail():
                pass
            case _:
                return node
        request = Request(self._instructions.number(instruction), message)
        return node._replace(requests=(*node.requests, request))


def _only_renews(state: State) -> bool:
    """All that time can bring here is a renewal of the lease."""
    match state:
        case Candidate():
            return state.sure and state.reading
        case Leading():
            return not state.lost and not state.doubtful
        case _:
            return isinstance(state, HOLDING)


def _with(world: World, index: int, node: Node) -> World:
    nodes = (node, world.nodes[1]) if index == 0 else (world.nodes[0], node)
    return World(world.log, world.lease, nodes, world.ghosts, world.budget)


def _lease_answer(lease: int, index: int, instruction: Instruction) -> tuple[int, Fact]:
    match instruction:
        case AcquireLease(instead_of):
            free = lease in (NOBODY, RESERVED + index) or (instead_of and lease == 1 - index)
            return (index, LeaseAcquired()) if free else (lease, LeaseRefused())
        case RenewLease():
            return lease, LeaseRenewed() if lease == index else LeaseLost()
        case HandOverLease(to):
            return (RESERVED + int(to) if lease == index else lease), LeaseGivenBack()
        case _:
            return (NOBODY if lease == index else lease), LeaseGivenBack()


def _unknown(instruction: Instruction) -> Fact:
    match instruction:
        case AppendClaim():
            return ClaimUnknown()
        case Publish():
            return AppendUnknown()
        case _:
            return TailUnavailable()


def _mirrored(world: World) -> World:
    """The same world with the two replicas' names exchanged, if that comes first in some order."""
    if world.nodes[0] <= world.nodes[1]:
        return world
    lease = world.lease if world.lease == NOBODY else world.lease ^ 1
    return world._replace(nodes=(world.nodes[1], world.nodes[0]), lease=lease)


@dataclass
class Explored:
    """What an exploration saw: number of worlds, and those from which the goal is out of reach."""

    worlds: int
    stuck: list[World]
    ways: set[tuple[type, type, type]]


def explore(
    budget: Budget, broken: Broken | None = None, *, all_renewals: bool = False
) -> Explored:
    """All worlds until everything is published; ViolationError when an invariant is broken."""
    model = Model(broken or Broken(), all_renewals=all_renewals)
    same = (lambda world: world) if budget.hand_overs else _mirrored
    nodes = [model.unready if i < budget.unready else model.newborn for i in range(2)]
    first = World((), NOBODY, (nodes[0], nodes[1]), (), budget)
    seen: dict[World, int] = {first: 0}
    backwards: list[list[int]] = [[]]
    goals: list[int] = []
    todo = deque([first])
    while todo:
        world = todo.popleft()
        number = seen[world]
        if any(entry.last == RECORDS for entry in world.log):
            goals.append(number)
            continue
        for following in model.successors(world):
            following = same(following)
            found = seen.get(following)
            if found is None:
                found = seen[following] = len(backwards)
                backwards.append([])
                todo.append(following)
            if found != number:
                backwards[found].append(number)
    reaching = set(goals)
    ahead = deque(goals)
    while ahead:
        for before in backwards[ahead.popleft()]:
            if before not in reaching:
                reaching.add(before)
                ahead.append(before)
    stuck = [world for world, number in seen.items() if number not in reaching]
    return Explored(len(seen), stuck, model.ways)


def main() -> None:
    """Explores with larger budgets than the tests do: some minutes, some gigabytes."""
    for budget in (
        Budget(lease_ends=1, lost_answers=1),
        Budget(lost_answers=1, hand_overs=1, lease_outages=1),
        Budget(crashes=1, lost_answers=1, lease_outages=1),
        Budget(deaths=1, lost_answers=1),
    ):
        found = explore(budget)
        print(budget, f"worlds={found.worlds} stuck={len(found.stuck)}")


if __name__ == "__main__":
    main()
