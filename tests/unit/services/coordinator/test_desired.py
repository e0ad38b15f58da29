"""What is deployed stays what somebody wanted last, and what was refused leaves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.events import Life, UnavailableError
from lockstep.frame import Problem
from lockstep.siddhiql import check
from lockstep.store import (
    Before,
    Deploying,
    Deployment,
    HowDeployed,
    Past,
    Restoration,
    Revision,
    Stale,
)
from lockstep_services.coordinator import claims, desired
from lockstep_services.coordinator.pasts import PastWish
from lockstep_services.coordinator.restoring import Restoring
from tests.unit.services.coordinator.scenes import CUT, Scene

FOUR = "@app:parallel('4') " + CUT
AGAIN = "\n-- again"


def held_up(scene: Scene, name: str) -> tuple[asyncio.Event, asyncio.Event]:
    """The store's answers to a task of that name come late: when it has asked, and may go on."""
    get, asked, go_on = scene.store.deployments.get, asyncio.Event(), asyncio.Event()

    async def late(app: str) -> Deployment | None:
        found = await get(app)
        task = asyncio.current_task()
        if task is not None and task.get_name() == name:
            asked.set()
            await go_on.wait()
        return found

    scene.store.deployments.get = late  # type: ignore[method-assign]
    return asked, go_on


async def renewed(scene: Scene) -> Deployment:
    """As a snapshot of a fleet does."""
    return await scene.desired.renew("A", lambda before, _: before.origin, "relaid")


async def test_a_renewal_does_not_bring_back_what_is_undeployed_meanwhile() -> None:
    """One after the other: whoever undeploys has the last word."""
    scene = Scene()
    await scene.deploy("A")
    asked, go_on = held_up(scene, "renewing")
    renewing = asyncio.create_task(renewed(scene), name="renewing")
    await asked.wait()
    undeploying = asyncio.create_task(scene.desired.undeploy("A", purge=False))
    await asyncio.sleep(0)
    go_on.set()
    await renewing
    assert await undeploying
    assert await scene.desired.list() == []


@pytest.mark.parametrize("purge", [False, True])
async def test_nor_what_another_coordinator_undeploys(purge: bool) -> None:
    """The store refuses it: locks of this process do not hold that one up."""
    scene = Scene()
    await scene.deploy("A")
    asked, go_on = held_up(scene, "renewing")
    renewing = asyncio.create_task(renewed(scene), name="renewing")
    await asked.wait()
    await scene.store.deployments.remove("A", epoch=scene.epoch.number, purge=purge)
    go_on.set()
    with pytest.raises(Problem) as refused:
        await renewing
    assert refused.value.status == HTTPStatus.NOT_FOUND
    assert await scene.desired.list() == []


async def test_calling_off_brings_back_nothing_either() -> None:
    """What was deployed before the past is not, when somebody undeploys it meanwhile."""
    scene = Scene()
    one = (await scene.deploy("A")).deployment
    life = one.life.next
    past = Past("A", 1, 0, 0, "nowhere", life, before=Before(one.text, {}, 1))
    following = replace(one, life=life, origin=replace(one.origin, past=past))
    await scene.store.deployments.put(following, epoch=scene.epoch.number)

    async def is_pending(deployment: Deployment) -> bool:
        return True

    scene.pasts.is_pending = is_pending  # type: ignore[method-assign]
    lock = scene.desired.one_at_a_time("A")
    async with lock:
        off = asyncio.create_task(scene.calling_off.call_off("A", "why", purge=False, who="ann"))
        for _ in range(9):
            await asyncio.sleep(0)
        assert not off.done()
        await scene.store.deployments.remove("A", epoch=scene.epoch.number)
    with pytest.raises(Problem) as refused:
        await off
    assert refused.value.status == HTTPStatus.NOT_FOUND
    assert await scene.desired.list() == []


async def test_what_was_found_to_restore_is_of_what_was_seen() -> None:
    """Another text that is deployed meanwhile does not go on from it."""
    scene = Scene()
    one = (await scene.deploy("A")).deployment
    name = LogName("A", since_ms=one.origin.logs_since_ms)
    revision = Revision("r", *name.key, one.version, 1, 1, 1, True, 1)
    await scene.store.revisions.save(revision, b"s")
    anything: Any = None
    restoring = Restoring(
        scene.desired, anything, scene.pasts, anything, scene.store, scene.bus, scene.clock
    )
    list_of, meanwhile = scene.store.revisions.list, list[Callable[[], Awaitable[object]]]()

    async def listed(app: str, group: str, partition: int) -> Any:
        for each in meanwhile:
            await each()
        return await list_of(app, group, partition)

    scene.store.revisions.list = listed  # type: ignore[method-assign]
    meanwhile.append(lambda: scene.deploy("A", text=CUT + AGAIN))
    with pytest.raises(Problem) as refused:
        await restoring.restore("A", "r")
    assert refused.value.status == HTTPStatus.CONFLICT
    assert (await scene.desired.get("A")).origin.restoration is None
    meanwhile.clear()
    following = await scene.desired.renew(
        "A", lambda before, life: replace(before.origin, restoration=Restoration("r", life)), "x"
    )
    assert following.life == Life(one.life.deployed_ms, 3)


async def test_what_is_refused_has_no_logs() -> None:
    """Nobody would remove them."""
    scene = Scene()
    wish = PastWish(0, None, "archive")
    refused: list[Awaitable[object]] = [
        scene.desired.deploy(CUT.format(app="A"), {}, None, wish, who="ann"),
        scene.desired.deploy(CUT.format(app="B"), {"replicas": "no"}, None, who="ann"),
        scene.desired.deploy(CUT.format(app="C"), {}, 2, wish, who="ann"),
    ]
    for each in refused:
        with pytest.raises(Problem):
            await each
    assert list(await scene.bus.logs(None)) == []


async def test_logs_of_an_app_that_the_store_does_not_know_are_purged() -> None:
    """A deployment was cut short; others' stay."""
    scene = Scene()
    await scene.deploy("B")
    there = list(await scene.bus.logs(None))
    await scene.bus.input_log(LogName("A", since_ms=5))
    await scene.bus.output_log(LogName("A", since_ms=5))
    assert not await scene.desired.undeploy("A", purge=False)
    assert await scene.desired.undeploy("A", purge=True)
    assert list(await scene.bus.logs(None)) == there
    assert not await scene.desired.undeploy("A", purge=True)


async def test_one_unit_that_somebody_wanted_stays_one() -> None:
    """Also with the next text; whoever wants it cut says so."""
    scene = Scene()
    one = (await scene.deploy("A", 1, FOUR)).deployment
    assert (one.layout, one.parallel) == (0, 1)
    assert not (await scene.deploy("A", None, FOUR)).changed
    again = (await scene.deploy("A", None, FOUR + AGAIN)).deployment
    assert (again.layout, again.parallel) == (0, 1)
    cut = (await scene.deploy("A", 4, FOUR + AGAIN)).deployment
    assert (cut.layout, cut.parallel) == (cut.life.number, 4)


async def test_one_unit_is_one_whether_somebody_has_said_so_or_not() -> None:
    """An earlier release has not noted it, and the text may say it."""
    scene = Scene()
    one = (await scene.deploy("A")).deployment
    assert (one.layout, one.parallel) == (0, 0)
    assert not (await scene.deploy("A", 1)).changed
    assert not (await scene.deploy("A")).changed
    assert (await scene.deploy("A", 2)).changed


async def test_what_a_text_wants_is_its_own_where_nobody_said_anything() -> None:
    """Another text may be cut otherwise."""
    scene = Scene()
    assert (await scene.deploy("A")).deployment.layout == 0
    cut = (await scene.deploy("A", None, FOUR)).deployment
    assert (cut.layout, cut.parallel) == (2, 0)
    assert len(await scene.layouts.units(cut)) == 4


async def test_layouts_leave_no_placements() -> None:
    """Nor does the app, once it is undeployed."""
    scene = Scene()
    await scene.deploy("A", 3)
    for _ in range(3):
        await scene.watchman.round(knows_silence=True)
        await scene.desired.renew("A", lambda before, _: before.origin, "relaid", relaid=True)

        async def has_begun(view: object) -> bool:
            return True

        scene.layouts.has_begun = has_begun  # type: ignore[method-assign]
        await scene.watchman.round(knows_silence=True)
    number = (await scene.desired.get("A")).layout
    assert list(await scene.placed()) == [f"A\x1fby_k~{number}\x1f{n}" for n in range(3)]
    await scene.desired.undeploy("A", purge=False)
    assert await scene.placed() == {}


async def test_an_epoch_that_is_over_is_passed_over() -> None:
    """A renewal is written all the same."""
    scene = Scene()
    await scene.deploy("A")
    later = scene.epoch.number + 7
    await scene.store.deployments.put_drained("n9", drained=True, epoch=later)
    assert (await renewed(scene)).life.number == 2
    stale = await scene.store.deployments.put_drained("n9", drained=False, epoch=later)
    assert isinstance(stale, Stale)


ORDERS = (
    "@app:name('{{app}}') @source(type='http', receiver.url='http://0.0.0.0:8006/{path}',"
    " @map(type='json')) define stream S (k string); from S select k insert into O;"
)


async def test_a_path_of_another_app_is_refused() -> None:
    """It says which path, and not whose. Its own stays an app's, and a free one is anybody's."""
    scene = Scene()
    orders, others = ORDERS.format(path="orders"), ORDERS.format(path="others")
    await scene.deploy("Shop", text=orders)
    with pytest.raises(Problem, match="the path '/orders' belongs to another app") as refused:
        await scene.deploy("Spy", text=orders)
    assert refused.value.status == HTTPStatus.CONFLICT
    assert "Shop" not in f"{refused.value} {refused.value.hint}"
    assert [one.app for one in await scene.desired.list()] == ["Shop"]
    await scene.deploy("Spy", text=others)
    with pytest.raises(Problem, match="belongs to another app"):
        await scene.deploy("Spy", text=orders + AGAIN)
    await scene.deploy("Shop", text=orders + AGAIN)
    await scene.desired.undeploy("Shop", purge=False)
    await scene.deploy("Spy", text=orders)


async def folding(scene: Scene, app: str, text: str) -> None:
    """Another text of an app is deployed, to begin with a past."""
    one = await scene.desired.get(app)
    life, was = one.life.next, Before(one.text, {}, 1)
    past = Past(app, 1, 0, 0, "nowhere", life, before=was)
    following = replace(
        one, text=text.format(app=app), version="next", life=life,
        origin=replace(one.origin, past=past),
    )  # fmt: skip
    await scene.store.deployments.put(following, epoch=scene.epoch.number)


async def test_a_path_stays_an_apps_while_its_past_may_be_called_off() -> None:
    """Else two apps had it then: the text before goes on, which claims it."""
    scene, orders = Scene(), ORDERS.format(path="orders")
    await scene.deploy("Shop", text=orders)
    await folding(scene, "Shop", ORDERS.format(path="others"))
    for path in ("orders", "others"):
        with pytest.raises(Problem, match=f"the path '/{path}' belongs to another app"):
            await scene.deploy("Spy", text=ORDERS.format(path=path))
    assert list(await scene.bus.logs("Spy")) == []
    await scene.calling_off.call_off("Shop", "why", purge=False, who="ann")
    with pytest.raises(Problem, match="the path '/orders' belongs to another app"):
        await scene.deploy("Spy", text=orders)
    await scene.deploy("Spy", text=ORDERS.format(path="others"))


async def test_it_is_free_once_the_app_has_begun_with_its_past() -> None:
    """Not while nobody can tell; others' apps do not wait for that."""
    scene, orders, is_away = Scene(), ORDERS.format(path="orders"), True
    await scene.deploy("Shop", text=orders)
    await folding(scene, "Shop", ORDERS.format(path="others"))

    async def is_pending(deployment: Deployment) -> bool:
        if is_away:
            raise UnavailableError("the log is away")
        return False

    scene.pasts.is_pending = is_pending  # type: ignore[method-assign]
    with pytest.raises(Problem, match="the path '/orders' belongs to another app"):
        await scene.deploy("Spy", text=orders)
    await scene.deploy("Other", text=ORDERS.format(path="free"))
    is_away = False
    await scene.deploy("Spy", text=orders)


async def test_a_path_that_another_app_takes_meanwhile_is_refused() -> None:
    """It was free when it was looked for, and belongs to who was faster when it is written."""
    scene, orders = Scene(), ORDERS.format(path="orders")
    asked, go_on = held_up(scene, "spying")
    spying = asyncio.create_task(scene.deploy("Spy", text=orders), name="spying")
    await asked.wait()
    await scene.deploy("Shop", text=orders)
    go_on.set()
    with pytest.raises(Problem, match="the path '/orders' belongs to another app"):
        await spying
    assert [one.app for one in await scene.desired.list()] == ["Shop"]


async def beside_another_coordinator(scene: Scene, path: str) -> None:
    """That one deploys `Shop` with a path, between the scene's last look and its next write."""
    shop = (await Scene().deploy("Shop", text=ORDERS.format(path=path))).deployment
    put, waiting = scene.store.deployments.put, [shop]

    async def late(deployment: Deployment, **how: Any) -> Any:
        while waiting:
            await put(waiting.pop(), epoch=scene.epoch.number)
        return await put(deployment, **how)

    scene.store.deployments.put = late  # type: ignore[method-assign]


async def test_so_is_one_that_another_coordinator_gives_away() -> None:
    """The store refuses what was decided without it, so it is looked at again."""
    scene = Scene()
    await beside_another_coordinator(scene, "orders")
    with pytest.raises(Problem, match="the path '/orders' belongs to another app"):
        await scene.deploy("Spy", text=ORDERS.format(path="orders"))
    assert [one.app for one in await scene.desired.list()] == ["Shop"]


async def test_an_app_beside_another_one_is_deployed_all_the_same() -> None:
    """What another coordinator deploys meanwhile, with a path of its own, refuses nobody."""
    scene = Scene()
    await beside_another_coordinator(scene, "others")
    await scene.deploy("Spy", text=ORDERS.format(path="orders"))
    assert [one.app for one in await scene.desired.list()] == ["Shop", "Spy"]


def yielding(scene: Scene) -> None:
    """Others write between what a coordinator has seen deployed and what it writes."""
    list_of = scene.store.deployments.list

    async def listed() -> Sequence[Deployment]:
        found = await list_of()
        await asyncio.sleep(0)
        return found

    scene.store.deployments.list = listed  # type: ignore[method-assign]


@pytest.mark.parametrize("terms_apart", [0, 1])
async def test_two_coordinators_refuse_no_app_that_nobody_else_touches(terms_apart: int) -> None:
    """Each is passed by the other again and again; also by one of a later term."""
    one = Scene()
    other = Scene(shelf=one.shelf)
    other.epoch.number += terms_apart
    for scene in (one, other):
        yielding(scene)
    apps = [(scene, f"{name}{n}") for n in range(30) for scene, name in ((one, "A"), (other, "B"))]
    await asyncio.gather(*(scene.deploy(app) for scene, app in apps))
    found = {each.app for each in await one.desired.list()}
    assert found == {app for _, app in apps}


async def test_who_is_always_passed_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No deployment goes on forever, however busy another coordinator is."""
    monkeypatch.setattr(desired, "MAX_LOOKS", 5)
    scene, other = Scene(), Scene()
    put, passed = scene.store.deployments.put, list[str]()

    async def late(deployment: Deployment, **how: Any) -> Any:
        passed.append(f"B{len(passed)}")
        faster = (await other.deploy(passed[-1])).deployment
        await put(faster, epoch=scene.epoch.number)
        return await put(deployment, **how)

    scene.store.deployments.put = late  # type: ignore[method-assign]
    with pytest.raises(Problem, match="changed by somebody else") as refused:
        await scene.deploy("A")
    assert (refused.value.status, len(passed)) == (409, desired.MAX_ATTEMPTS * 5)


async def test_apps_that_shared_a_path_go_on() -> None:
    """Releases before let them: a new text that claims nothing new is taken."""
    scene = Scene()
    orders = ORDERS.format(path="orders")
    await scene.deploy("Shop", text=orders)
    shop = await scene.desired.get("Shop")
    twin = replace(shop, app="Twin", text=shop.text.replace("'Shop'", "'Twin'"))
    await scene.store.deployments.put(
        twin, epoch=scene.epoch.number, deploying=Deploying("ann", HowDeployed.FRESH, 3)
    )
    await scene.deploy("Twin", text=orders + AGAIN)


async def test_a_place_of_another_app_is_refused() -> None:
    """Under its `durable.name` messages of a subject would go to either of the two."""
    scene = Scene()
    text = (
        "@app:name('{app}') @source(type='nats', destination='alerts', durable.name='seen',"
        " @map(type='json')) define stream S (k string); from S select k insert into O;"
    )
    await scene.deploy("Shop", text=text)
    with pytest.raises(Problem, match="'seen' of the subject 'alerts' belongs"):
        await scene.deploy("Spy", text=text)
    await scene.deploy("Spy", text=text.replace("'seen'", "'own'"))


PATH_OF = (
    "@app:name('{app}') define stream {stream} (k string); from {stream} select k insert into O;"
)


async def test_an_address_of_another_app_is_no_path_to_claim() -> None:
    """/<app>/<stream> is found first. What that app does not take is anybody's."""
    scene = Scene()
    await scene.deploy("Shop", text=PATH_OF.format(app="Shop", stream="orders"))
    with pytest.raises(Problem, match="the path '/Shop/orders' belongs to another app") as refused:
        await scene.deploy("Spy", text=ORDERS.format(path="Shop/orders"))
    assert "receiver.url" in (refused.value.hint or "")
    await scene.deploy("Spy", text=ORDERS.format(path="Shop/others"))


async def test_no_app_takes_a_path_by_its_name() -> None:
    """Neither a new one nor one with another stream; who has both already goes on."""
    scene = Scene()
    await scene.deploy("Meteo", text=ORDERS.format(path="endpoints/weather"))
    taken = PATH_OF.format(app="endpoints", stream="weather")
    with pytest.raises(Problem, match="'/endpoints/weather' belongs to another app") as refused:
        await scene.deploy("endpoints", text=taken)
    assert (refused.value.status, "name for the app" in (refused.value.hint or "")) == (409, True)
    await scene.deploy("endpoints", text=PATH_OF.format(app="endpoints", stream="winds"))
    with pytest.raises(Problem, match="belongs to another app"):
        await scene.deploy("endpoints", text=taken)
    before = await scene.desired.get("endpoints")
    await scene.store.deployments.put(
        replace(before, text=taken, version="earlier", life=before.life.next),
        epoch=scene.epoch.number, deploying=Deploying("ann", HowDeployed.FRESH, 3),
    )  # fmt: skip
    await scene.deploy("endpoints", text=taken + AGAIN)
    await scene.deploy("Meteo", text=ORDERS.format(path="endpoints/weather") + AGAIN)


async def test_texts_of_many_apps_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with each deploy; and of no app that claims nothing are they read at all."""
    scene, read = Scene(), list[str]()

    def counted(text: str) -> Any:
        read.append(text)
        return check(text)

    monkeypatch.setattr(claims, "check_deployed", counted)
    first = (await scene.deploy("A", text=ORDERS.format(path="first"))).deployment
    for number in range(300):
        text = ORDERS.format(path=f"path{number}").format(app=f"A{number}")
        await scene.store.deployments.put(
            replace(first, app=f"A{number}", text=text, version=str(number)),
            epoch=scene.epoch.number, deploying=Deploying("ann", HowDeployed.FRESH, 3),
        )  # fmt: skip
    await scene.deploy("B", text=CUT)
    assert read == []
    await scene.deploy("A", text=ORDERS.format(path="second"))
    assert len(read) == 300
    await scene.deploy("A", text=ORDERS.format(path="third"))
    assert len(read) == 300
    with pytest.raises(Problem, match="'/path299' belongs to another app"):
        await scene.deploy("A", text=ORDERS.format(path="path299"))
    assert len(read) == 300
    await scene.desired.undeploy("A299", purge=False)
    await scene.deploy("A", text=ORDERS.format(path="path299"))


async def test_a_text_that_is_not_valid_any_more_claims_nothing() -> None:
    """It stops nobody."""
    scene = Scene()
    text = ORDERS.format(path="orders")
    shop = (await scene.deploy("Shop", text=text)).deployment
    await scene.store.deployments.put(
        replace(shop, text=shop.text + " from", version="broken", life=shop.life.next),
        epoch=scene.epoch.number, deploying=Deploying("ann", HowDeployed.FRESH, 3),
    )  # fmt: skip
    await scene.deploy("Spy", text=text)
