"""Leases: one holder at a time, for a limited time, and every change names its acquisition."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

from lockstep.clock import SystemClock
from lockstep.leader import Held, Lease, Leases
from tests.contract.leader.conftest import Competition
from tests.contract.patience import PATIENCE_S, eventually

LONG_MS = 600_000
SHORT_MS = 150


async def _acquired(leases: Leases, resource: str, holder: str, ttl_ms: int = LONG_MS) -> Lease:
    lease = await leases.acquire(resource, holder, ttl_ms=ttl_ms)
    assert isinstance(lease, Lease)
    return lease


async def _gets(leases: Leases, resource: str, holder: str) -> bool:
    return isinstance(await leases.acquire(resource, holder, ttl_ms=LONG_MS), Lease)


async def test_one_holder_at_a_time(competition: Competition) -> None:
    """The second is refused until the first gives it back."""
    lease = await _acquired(competition.one, competition.resource, "a")
    assert await competition.two.holder(competition.resource) == "a"
    assert not await _gets(competition.two, competition.resource, "b")
    assert await competition.one.release(lease)
    assert await competition.one.holder(competition.resource) is None
    assert (await _acquired(competition.two, competition.resource, "b")).holder == "b"


async def test_the_server_bears_whose_it_is(competition: Competition) -> None:
    """Of the first suite, until another one says in whose place it comes."""
    one, two = competition.one, competition.two
    ours, theirs = (f"{competition.resource} {end}" for end in "ab")
    before = await one.owner(ours)
    assert await one.owner(ours, instead_of=before) == ours
    assert [await each.owner(theirs) for each in (one, two)] == [ours, ours]
    assert await two.owner(theirs, instead_of="somebody") == ours
    assert await two.owner(theirs, instead_of=ours) == theirs
    assert await one.owner(ours) == theirs
    assert await two.owner(theirs, instead_of=theirs) == theirs


async def test_concurrent_acquirers_get_one_lease(competition: Competition) -> None:
    """Out of many at the same moment exactly one succeeds."""
    attempts = (
        leases.acquire(competition.resource, f"n{i}", ttl_ms=LONG_MS)
        for i in range(20)
        for leases in (competition.one, competition.two)
    )
    leases = [lease for lease in await asyncio.gather(*attempts) if isinstance(lease, Lease)]
    assert len(leases) == 1
    assert await competition.one.holder(competition.resource) == leases[0].holder


async def test_the_same_name_does_not_share_a_lease(competition: Competition) -> None:
    """A restarted process of the same name is somebody else."""
    await _acquired(competition.one, competition.resource, "a")
    assert not await _gets(competition.two, competition.resource, "a")


async def test_a_lease_ends_by_itself(competition: Competition) -> None:
    """Not renewed it is free after its time, never before, and its holder is told."""
    clock = SystemClock()
    started_ms = clock.monotonic_ms()
    lease = await _acquired(competition.one, competition.resource, "a", SHORT_MS)
    assert started_ms < lease.expires_at_monotonic_ms <= clock.monotonic_ms() + SHORT_MS
    async with asyncio.timeout(PATIENCE_S):
        while not await _gets(competition.two, competition.resource, "b"):
            await clock.sleep_ms(5)
    assert clock.monotonic_ms() - started_ms >= SHORT_MS - 1
    assert await competition.one.renew(lease) is None
    assert not await competition.one.release(lease)
    assert await competition.two.holder(competition.resource) == "b"


async def test_renewing_keeps_it(competition: Competition) -> None:
    """Renewed in time it lasts well beyond its first time to live."""
    clock = SystemClock()
    async with asyncio.timeout(PATIENCE_S):
        for attempt in itertools.count():
            resource = f"{competition.resource}/{attempt}"
            until_ms = clock.monotonic_ms() + SHORT_MS * 8
            lease: Lease | None = await _acquired(competition.one, resource, "a", SHORT_MS * 4)
            while lease is not None:
                if clock.monotonic_ms() > until_ms:
                    return
                lease = await _renewed_in_time(competition, lease, clock)


async def _renewed_in_time(
    competition: Competition, lease: Lease, clock: SystemClock
) -> Lease | None:
    """None where the machine was too busy for us to be in time: then nothing can be said."""
    await clock.sleep_ms(SHORT_MS // 4)
    renewed = await competition.one.renew(lease)
    taken = await competition.two.acquire(lease.resource, "b", ttl_ms=1)
    if clock.monotonic_ms() >= lease.expires_at_monotonic_ms:
        return None
    assert renewed is not None
    assert renewed.expires_at_monotonic_ms > lease.expires_at_monotonic_ms
    assert isinstance(taken, Held)
    return renewed


async def test_an_old_acquisition_cannot_touch_a_new_one(competition: Competition) -> None:
    """Released and taken again by the same holder, the old lease is worth nothing."""
    old = await _acquired(competition.one, competition.resource, "a")
    await competition.one.release(old)
    new = await _acquired(competition.one, competition.resource, "a")
    assert await competition.one.renew(old) is None
    assert not await competition.one.release(old)
    assert not await competition.one.hand_over(old, "b")
    assert await competition.one.renew(new) is not None


async def test_handing_over_reserves_it_for_one(competition: Competition) -> None:
    """Only the named successor can take it; the giver has it no more."""
    lease = await _acquired(competition.one, competition.resource, "a")
    assert await competition.one.hand_over(lease, "b")
    assert await competition.one.holder(competition.resource) == "b"
    assert await competition.one.renew(lease) is None
    assert not await _gets(competition.one, competition.resource, "a")
    taken = await _acquired(competition.two, competition.resource, "b")
    assert await competition.two.renew(taken) is not None
    assert not await _gets(competition.one, competition.resource, "b")


async def test_a_reservation_ends_with_the_lease(competition: Competition) -> None:
    """A successor that never comes does not block the others for longer than the lease."""
    clock = SystemClock()
    async with asyncio.timeout(PATIENCE_S):
        reserved = False
        while not reserved:
            lease = await _acquired(competition.one, competition.resource, "a", SHORT_MS)
            reserved = await competition.one.hand_over(lease, "nobody")
            late = clock.monotonic_ms() >= lease.expires_at_monotonic_ms
            assert reserved or late
        while not await _gets(competition.two, competition.resource, "b"):
            await clock.sleep_ms(5)
    assert await competition.two.holder(competition.resource) == "b"


async def test_resources_are_independent(competition: Competition) -> None:
    """Leases of different resources do not meet."""
    await _acquired(competition.one, competition.resource, "a")
    await _acquired(competition.two, competition.resource + "/2", "b")
    await eventually(competition.one.healthy)


async def test_who_is_refused_learns_who_holds_it(competition: Competition) -> None:
    """The acquisition by its token, and the process; of a reservation only for whom it is."""
    lease = await _acquired(competition.one, competition.resource, "a")
    held = await _refused(competition)
    assert held == Held("a", lease.token)
    assert held.process == competition.one.process != competition.two.process
    assert await competition.one.hand_over(lease, "c")
    assert await _refused(competition) == Held("c", "")


async def test_a_process_is_connected_while_it_appears(competition: Competition) -> None:
    """From then until the end of its connection; only who is asked about is told of."""
    processes = [competition.one.process, competition.two.process, "nobody"]
    assert await competition.two.connected(processes) == frozenset()
    async with _appearing(competition.one, competition.two):
        assert await competition.two.connected(processes) == {competition.one.process}
        assert await competition.two.connected(["nobody"]) == frozenset()
    await _is_gone(competition)


async def test_a_lease_is_taken_from_a_process_that_has_gone(competition: Competition) -> None:
    """Not while it is connected; the old acquisition is worth nothing afterwards."""
    async with _appearing(competition.one, competition.two):
        lease = await _acquired(competition.one, competition.resource, "a")
        held = await _refused(competition)
        assert await _replaced(competition, held) == held
    await _is_gone(competition)
    taken = await _replaced(competition, held)
    assert isinstance(taken, Lease)
    assert await competition.one.renew(lease) is None
    assert not await competition.one.release(lease)
    assert await competition.two.renew(taken) is not None


async def test_a_lease_is_taken_from_the_named_acquisition_alone(competition: Competition) -> None:
    """Neither from a later one of the same holder, nor from a reservation."""
    old = await _acquired(competition.one, competition.resource, "a")
    held = await _refused(competition)
    await competition.one.release(old)
    new = await _acquired(competition.one, competition.resource, "a")
    assert await _replaced(competition, held) == Held("a", new.token)
    assert await competition.one.hand_over(new, "c")
    assert await _replaced(competition, Held("a", new.token)) == Held("c", "")
    assert await _replaced(competition, Held("c", "")) == Held("c", "")


async def test_of_many_who_hear_of_a_death_one_gets_the_lease(competition: Competition) -> None:
    """The others are told who that is."""
    await _acquired(competition.one, competition.resource, "a")
    held = await _refused(competition)
    attempts = (
        competition.two.acquire(competition.resource, f"n{i}", ttl_ms=LONG_MS, instead_of=held)
        for i in range(10)
    )
    found = await asyncio.gather(*attempts)
    (lease,) = [one for one in found if isinstance(one, Lease)]
    assert {one.token for one in found} == {lease.token}


async def _refused(competition: Competition) -> Held:
    held = await competition.two.acquire(competition.resource, "b", ttl_ms=LONG_MS)
    assert isinstance(held, Held)
    return held


async def _replaced(competition: Competition, held: Held) -> Lease | Held:
    return await competition.two.acquire(competition.resource, "b", ttl_ms=LONG_MS, instead_of=held)


@contextlib.asynccontextmanager
async def _appearing(one: Leases, watcher: Leases) -> AsyncIterator[None]:
    """Connected as the watcher sees it."""
    task = asyncio.create_task(one.appear())
    try:
        await eventually(lambda: _is_connected(one, watcher))
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _is_connected(one: Leases, watcher: Leases) -> bool:
    return one.process in await watcher.connected([one.process])


async def _is_gone(competition: Competition) -> None:
    async def gone() -> bool:
        return not await _is_connected(competition.one, competition.two)

    await eventually(gone)


async def test_many_are_wanted_at_a_time(competition: Competition) -> None:
    """Of each there is one holder, whoever asks with others; who is refused learns of that one."""
    resources = [f"{competition.resource}/{number}" for number in range(1_100)]
    kept = await _acquired(competition.one, resources[7], "a")
    both = ((competition.one, "a"), (competition.two, "b"))
    wanted = [(leases, resource, name) for resource in resources for leases, name in both]
    found = await asyncio.gather(
        *(leases.acquire(resource, name, ttl_ms=LONG_MS) for leases, resource, name in wanted)
    )
    tokens = {found[2 * number].token for number in range(len(resources))}
    assert len(tokens) == len(resources)
    for number, resource in enumerate(resources):
        answers = found[2 * number : 2 * number + 2]
        leases = [each for each in answers if isinstance(each, Lease)]
        (lease,) = leases or [kept]
        assert lease.resource == resource
        assert {each.token for each in answers} == {lease.token}
        assert {each.holder for each in answers} == {lease.holder}


async def test_who_is_cancelled_does_not_take_others_along(competition: Competition) -> None:
    """They are asked for together, and each has an answer of its own."""
    resources = [f"{competition.resource}/{number}" for number in range(20)]
    asking = [
        asyncio.create_task(competition.one.acquire(each, "a", ttl_ms=LONG_MS))
        for each in resources
    ]
    await asyncio.sleep(0)
    for each in asking[::2]:
        each.cancel()
    await asyncio.wait(asking)
    assert all(isinstance(each.result(), Lease) for each in asking[1::2])


async def test_many_are_renewed_together(competition: Competition) -> None:
    """Each answer is about its own: ours goes on, one that another has taken is lost."""
    resources = [f"{competition.resource}/{number}" for number in range(600)]
    mine = tuple([await _acquired(competition.one, each, "a") for each in resources])
    for number in (1, 2):
        await competition.one.release(mine[number])
        await _acquired(competition.two, resources[number], "b")
    before_ms = SystemClock().monotonic_ms()
    for _ in range(2):  # the same ones again
        renewed = await competition.one.renew_all(mine, ttl_ms=LONG_MS)
        assert renewed.lost == {resources[1], resources[2]}
    after_ms = SystemClock().monotonic_ms()
    assert before_ms + LONG_MS <= renewed.expires_at_monotonic_ms <= after_ms + LONG_MS
    assert not (await competition.one.renew_all((), ttl_ms=LONG_MS)).lost


async def test_who_holds_which_of_many(competition: Competition) -> None:
    """By its token, or as reserved; what nobody holds is left out."""
    free, held, reserved = (f"{competition.resource}/{each}" for each in ("f", "h", "r"))
    lease = await _acquired(competition.one, held, "a")
    handed = await _acquired(competition.one, reserved, "a")
    await competition.one.hand_over(handed, "b")
    found = await competition.two.holders([free, held, reserved])
    assert found == {held: Held("a", lease.token), reserved: Held("b", "")}
    assert await competition.two.holders([]) == {}


async def test_what_ran_out_and_nobody_has_is_taken_again_together(
    competition: Competition,
) -> None:
    """A process that was held up gets its leases back in one request; what another one has taken
    meanwhile is lost, and so is what is reserved."""
    one, two = competition.one, competition.two
    resources = [f"{competition.resource}/{kind}" for kind in ("free", "taken", "reserved")]
    mine = tuple([await _acquired(one, each, "a", SHORT_MS) for each in resources])
    async with asyncio.timeout(PATIENCE_S):
        while await two.holders(resources):
            await SystemClock().sleep_ms(5)
    await _acquired(two, resources[1], "b")
    assert await two.hand_over(await _acquired(two, resources[2], "b"), "c")
    assert await one.renew(mine[0]) is None
    again = await one.renew_all(mine, ttl_ms=SHORT_MS)
    assert again.lost == {resources[1], resources[2]}
    assert await two.holder(resources[0]) == "a"
