"""Users, groups, tokens and log-ins at the coordinator's door."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.unit.services.suite import CLUSTER, Doors, bearer, running

ROOT = bearer(CLUSTER)
PASSWORD = "correct horse battery"


@pytest.fixture
async def doors() -> AsyncIterator[Doors]:
    """A coordinator and a presenter with the cluster's token."""
    async with running("coordinator", "presenter") as (found, _):
        yield found


def basic(user: str, password: str) -> str:
    """The header's value."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def add(doors: Doors, user: str, **body: str) -> Any:
    """By the cluster's token."""
    status, answer = await doors.ask(ROOT, "PUT", f"/v1/users/{user}", body)
    assert status in (200, 201), answer
    return answer


async def log_in(doors: Doors, user: str, password: str = PASSWORD) -> str:
    """The header's value of a session."""
    body = {"user": user, "password": password}
    status, answer = await doors.ask(None, "POST", "/v1/login", body)
    assert status == 200, answer
    return bearer(answer["token"])


async def test_a_user_is_invited_chooses_a_password_and_logs_in_and_out(doors: Doors) -> None:
    """The invitation is good once, and opens no door by itself."""
    invitation = (await add(doors, "root", role="administer"))["invitation"]
    status, _ = await doors.ask(bearer(invitation), "GET", "/v1/me")
    assert status == 401
    chosen = {"invitation": invitation, "password": PASSWORD}
    status, answer = await doors.ask(None, "POST", "/v1/invitation", chosen)
    assert (status, answer["user"]) == (200, "root")
    status, answer = await doors.ask(None, "POST", "/v1/invitation", chosen)
    assert (status, "not good" in answer["detail"]) == (401, True)
    session = await log_in(doors, "root")
    status, me = await doors.ask(session, "GET", "/v1/me")
    assert (me["kind"], me["name"]) == ("user", "root")
    assert me["grants"] == [{"role": "administer", "app": "*"}]
    assert (await doors.ask(session, "POST", "/v1/logout"))[0] == 200
    assert (await doors.ask(session, "GET", "/v1/me"))[0] == 401


async def test_basic_is_taken_and_a_wrong_password_is_not(doors: Doors) -> None:
    """Of one who is there and of one who is not: the same answer."""
    await add(doors, "root", role="administer", password=PASSWORD)
    assert (await doors.ask(basic("root", PASSWORD), "GET", "/v1/apps"))[0] == 200
    wrong = await doors.ask(basic("root", "x"), "GET", "/v1/apps")
    nobody = await doors.ask(basic("nobody", "x"), "GET", "/v1/apps")
    assert wrong == nobody
    assert wrong[0] == 401
    for odd in ("Basic", "Basic !!!", "Basic " + base64.b64encode(b"root").decode()):
        assert (await doors.ask(odd, "GET", "/v1/apps"))[0] == 401


async def test_guessing_ends_after_some_tries(doors: Doors) -> None:
    """429 with Retry-After, also for the right password then, at /v1/login and with Basic."""
    await add(doors, "root", role="administer", password=PASSWORD)
    statuses = []
    for _ in range(11):
        body = {"user": "root", "password": "guessed wrongly"}
        statuses.append((await doors.ask(None, "POST", "/v1/login", body))[0])
    assert statuses == [401] * 10 + [429]
    status, answer = await doors.ask(basic("root", PASSWORD), "GET", "/v1/apps")
    assert (status, answer["retry_after_ms"] > 0) == (429, True)
    assert (await doors.ask(ROOT, "GET", "/v1/apps"))[0] == 200


async def test_who_asks_through_a_console_waits_for_its_own_browser_alone(doors: Doors) -> None:
    """A console shows the cluster's token and says for whom it asks. Of anybody else that is not
    believed, or one would guess from as many addresses as one can write."""
    await add(doors, "root", role="administer", password=PASSWORD)

    async def tried(password: str, browser: str, shown: str) -> int:
        headers = {"X-Forwarded-For": browser, "Authorization": shown}
        body = {"user": "root", "password": password}
        url = f"{doors.url}/v1/login"
        async with doors.session.post(url, json=body, headers=headers) as response:
            return response.status

    guessed = [await tried("guessed wrongly", "10.0.0.1, 10.0.0.9", ROOT) for _ in range(11)]
    assert guessed == [401] * 10 + [429]
    assert await tried(PASSWORD, "10.0.0.2", ROOT) == 200
    strange = bearer("not-the-cluster-secret")
    guessed = [await tried("guessed wrongly", f"10.0.1.{n}", strange) for n in range(11)]
    assert guessed == [401] * 10 + [429]


async def test_what_strangers_send_to_log_in_is_bounded(doors: Doors) -> None:
    """Names that nobody can have are not remembered, and bodies have 16 KB."""
    await add(doors, "root", role="administer", password=PASSWORD)
    long = "x" * 101
    for _ in range(11):
        body = {"user": long, "password": "guessed wrongly"}
        assert (await doors.ask(None, "POST", "/v1/login", body))[0] == 401
        assert (await doors.ask(basic(long, "x"), "GET", "/v1/apps"))[0] == 401
    session = await log_in(doors, "root")
    large = "x" * 20_000
    for shown, method, path, sent in (
        (None, "POST", "/v1/login", {"user": large, "password": PASSWORD}),
        (None, "POST", "/v1/invitation", {"invitation": large, "password": PASSWORD}),
        (session, "PUT", "/v1/me/password", {"old": large, "new": PASSWORD}),
    ):
        status, answer = await doors.ask(shown, method, path, sent)
        assert (status, answer["detail"]) == (413, "the body is larger than 16384 bytes")


async def test_strangers_do_not_fill_the_audit_log(doors: Doors) -> None:
    """Some of what they were refused is told one by one; whoever is known is always told."""
    await add(doors, "root", role="administer", password=PASSWORD)
    await add(doors, "ann", role="view", password=PASSWORD)
    for number in range(40):
        assert (await doors.ask(None, "GET", f"/v1/apps/{number}"))[0] == 401
    ann = await log_in(doors, "ann")
    for _ in range(20):
        assert (await doors.ask(ann, "GET", "/v1/users"))[0] == 403
    async with asyncio.timeout(30):
        while True:
            _, answer = await doors.ask(ROOT, "GET", "/v1/audit")
            told = Counter(entry["who"] for entry in answer["entries"])
            if told["user ann"] == 20:
                break
            await asyncio.sleep(0.05)
    assert told["nobody"] == 10


async def test_browsers_at_a_console_are_strangers_of_their_own(doors: Doors) -> None:
    """One that fails to log in again and again does not keep the others out of the audit log."""
    await add(doors, "root", role="administer", password=PASSWORD)
    for browser in 10 * ["10.0.0.1"] + ["10.0.0.2"]:
        headers = {"X-Forwarded-For": browser, "Authorization": ROOT}
        body = {"user": "root", "password": "guessed wrongly"}
        url = f"{doors.url}/v1/login"
        async with doors.session.post(url, json=body, headers=headers) as response:
            assert response.status == 401
    async with asyncio.timeout(30):
        told: Counter[str] = Counter()
        while told["10.0.0.2"] < 1:
            await asyncio.sleep(0.05)
            _, answer = await doors.ask(ROOT, "GET", "/v1/audit")
            told = Counter(e["forwarded"] for e in answer["entries"] if e["who"] == "nobody")
    assert told == {"10.0.0.1": 10, "10.0.0.2": 1}


async def test_roles_of_users_and_groups_reach_as_far_as_they_say(doors: Doors) -> None:
    """On one app; what is taken back is gone; who administers an app gives rights on it alone."""
    await add(doors, "root", role="administer", password=PASSWORD)
    await add(doors, "ann", password=PASSWORD)
    ann = await log_in(doors, "ann")
    text = {"text": "@app:name('Hot') define stream S (a int); from S select a insert into T;"}
    assert (await doors.ask(ann, "PUT", "/v1/apps", text))[0] == 403
    await doors.ask(ROOT, "PUT", "/v1/groups/ops", {})
    await doors.ask(ROOT, "PUT", "/v1/groups/ops/members/ann", {})
    grant = {"group": "ops", "role": "deploy", "app": "Hot"}
    assert (await doors.ask(ROOT, "POST", "/v1/grants", grant))[0] == 200
    assert (await doors.ask(ann, "PUT", "/v1/apps", text))[0] == 201
    cold = {"text": text["text"].replace("Hot", "Cold")}
    status, answer = await doors.ask(ann, "PUT", "/v1/apps", cold)
    assert (status, "deploy on app 'Cold'" in answer["detail"]) == (403, True)
    await doors.ask(ROOT, "PUT", "/v1/apps", cold)
    _, listed = await doors.ask(ann, "GET", "/v1/apps")
    assert [one["app"] for one in listed["apps"]] == ["Hot"]
    function = "define function f[python] return int { return 1 }; define stream"
    code = {"text": text["text"].replace("define stream", function)}
    status, answer = await doors.ask(ann, "PUT", "/v1/apps", code)
    assert (status, "deploy code" in answer["detail"]) == (403, True)
    ruling = {"user": "ann", "role": "administer", "app": "Hot"}
    await doors.ask(ROOT, "POST", "/v1/grants", ruling)
    assert (await doors.ask(ann, "PUT", "/v1/apps", code))[0] == 200
    assert (await doors.ask(ann, "POST", "/v1/grants", {**ruling, "app": "Cold"}))[0] == 403
    assert (await doors.ask(ann, "POST", "/v1/grants", {"user": "ann", "role": "view"}))[0] == 403
    for taken in (grant, ruling):
        assert (await doors.ask(ROOT, "DELETE", "/v1/grants", taken))[0] == 200
    assert (await doors.ask(ann, "GET", "/v1/apps"))[0] == 403


async def test_a_refusal_is_the_same_for_apps_that_exist_and_that_do_not(doors: Doors) -> None:
    """But for the name that was asked for."""
    await add(doors, "root", role="administer", password=PASSWORD)
    await add(doors, "ann", password=PASSWORD)
    grant = {"user": "ann", "role": "view", "app": "Other"}
    await doors.ask(ROOT, "POST", "/v1/grants", grant)
    text = {"text": "@app:name('Hot') define stream S (a int); from S select a insert into T;"}
    await doors.ask(ROOT, "PUT", "/v1/apps", text)
    ann = await log_in(doors, "ann")
    for method, path in (
        ("GET", "/v1/apps/{}"), ("GET", "/v1/apps/{}/status"), ("DELETE", "/v1/apps/{}"),
        ("GET", "/v1/apps/{}/streams/T/latest"), ("GET", "/siddhi-apps/{}"),
        ("GET", "/v1/live/{}"), ("POST", "/v1/apps/{}/query"),
    ):  # fmt: skip
        there = await doors.ask(ann, method, path.format("Hot"), {})
        gone = await doors.ask(ann, method, path.format("Hat"), {})
        assert there[0] == gone[0] == 403, path
        assert str(there[1]).replace("Hot", "Hat") == str(gone[1])


async def test_tokens_are_shown_once_do_what_they_may_and_are_revoked(doors: Doors) -> None:
    """A stream that one has open ends within the time between two looks."""
    body = {"name": "wall", "grants": [{"role": "view", "app": "Hot"}]}
    status, made = await doors.ask(ROOT, "POST", "/v1/tokens", body)
    assert status == 201
    _, listed = await doors.ask(ROOT, "GET", "/v1/tokens")
    assert [one["name"] for one in listed["tokens"]] == ["wall"]
    assert made["token"] not in str(listed)
    secret = made["token"].rsplit("_", 1)[1]
    assert secret not in str(listed)
    text = {"text": "@app:name('Hot') define stream S (a int); from S select a insert into T;"}
    await doors.ask(ROOT, "PUT", "/v1/apps", text)
    wall = bearer(made["token"])
    assert (await doors.ask(wall, "GET", "/v1/apps/Hot"))[0] == 200
    assert (await doors.ask(wall, "DELETE", "/v1/apps/Hot"))[0] == 403
    _, own = await doors.ask(wall, "GET", "/v1/tokens")
    assert [one["id"] for one in own["tokens"]] == [made["id"]]
    async with (
        aiohttp.ClientSession(headers={"Authorization": wall}) as session,
        session.get(f"{doors.url}/v1/apps/Hot/live") as stream,
    ):
        assert stream.status == 200
        gone = await doors.ask(ROOT, "DELETE", f"/v1/tokens/{made['id']}")
        assert gone[0] == 200
        await until_it_ends(stream)
    assert (await doors.ask(wall, "GET", "/v1/apps/Hot"))[0] == 401
    assert (await doors.ask(ROOT, "DELETE", f"/v1/tokens/{made['id']}"))[0] == 404


async def test_everybody_lists_and_revokes_what_is_theirs(doors: Doors) -> None:
    """A user's sessions; for who administers an app, tokens that are good for it alone. Others'
    are not there, and stay."""
    await add(doors, "root", role="administer")
    for user in ("ann", "bob"):
        await add(doors, user, password=PASSWORD)
    grant = {"user": "bob", "role": "administer", "app": "Hot"}
    assert (await doors.ask(ROOT, "POST", "/v1/grants", grant))[0] == 200
    ids: dict[str, str] = {}
    for name, apps in (("hot", ["Hot"]), ("cold", ["Cold"]), ("both", ["Hot", "Cold"])):
        body = {"name": name, "grants": [{"role": "view", "app": app} for app in apps]}
        ids[name] = (await doors.ask(ROOT, "POST", "/v1/tokens", body))[1]["id"]
    ann, again, bob = [await log_in(doors, user) for user in ("ann", "ann", "bob")]

    async def listed(shown: str) -> list[tuple[str, str]]:
        _, found = await doors.ask(shown, "GET", "/v1/tokens")
        return sorted((one["kind"], one["name"]) for one in found["tokens"])

    assert await listed(ann) == [("session", "ann"), ("session", "ann")]
    assert await listed(bob) == [("service", "hot"), ("session", "bob")]
    assert len(await listed(ROOT)) == 6
    for shown, names in ((ann, ("hot", "cold", "both")), (bob, ("cold", "both"))):
        for name in names:
            status, answer = await doors.ask(shown, "DELETE", f"/v1/tokens/{ids[name]}")
            assert (status, answer["detail"]) == (404, f"there is no token '{ids[name]}'")
    bobs = (await doors.ask(ROOT, "GET", "/v1/tokens"))[1]["tokens"]
    session = next(one["id"] for one in bobs if (one["kind"], one["name"]) == ("session", "bob"))
    assert (await doors.ask(ann, "DELETE", f"/v1/tokens/{session}"))[0] == 404
    assert (await doors.ask(bob, "DELETE", f"/v1/tokens/{ids['hot']}"))[0] == 200
    _, mine = await doors.ask(ann, "GET", "/v1/tokens")
    for one in mine["tokens"]:
        path = f"/v1/tokens/{one['id']}"
        if (await doors.ask(again, "DELETE", path))[0] == 401:  # the first one was its own
            await doors.ask(ann, "DELETE", path)
    for shown in (ann, again):
        assert (await doors.ask(shown, "GET", "/v1/me"))[0] == 401
    assert len(await listed(ROOT)) == 3


async def test_a_dashboard_is_for_those_who_may_view_its_apps(doors: Doors) -> None:
    """All of them; to others it is not there. Keeping and deleting take operating them, and so does
    replacing what is there. One without apps takes the right everywhere."""
    await add(doors, "root", role="administer")
    for user, role, app in (
        ("viewer", "view", "Hot"), ("worker", "operate", "Hot"), ("chief", "operate", None),
    ):  # fmt: skip
        await add(doors, user, password=PASSWORD)
        grant = {"user": user, "role": role} | ({} if app is None else {"app": app})
        await doors.ask(ROOT, "POST", "/v1/grants", grant)
    viewer, worker, chief = [await log_in(doors, one) for one in ("viewer", "worker", "chief")]
    boards = {
        "hot": {"widgets": [{"app": "Hot"}, {"app": "Hot"}]},
        "both": {"widgets": [{"app": "Hot"}, {"app": "Cold"}]},
        "none": {"widgets": []}, "odd": {"widgets": "x"},
    }  # fmt: skip
    for name, board in boards.items():
        status, answer = await doors.ask(worker, "PUT", f"/v1/dashboards/{name}", board)
        assert status == (201 if name == "hot" else 403), answer
        assert (await doors.ask(viewer, "PUT", f"/v1/dashboards/{name}", board))[0] == 403
        assert (await doors.ask(chief, "PUT", f"/v1/dashboards/{name}", board))[0] in (200, 201)
    for shown, names in ((viewer, ["hot"]), (worker, ["hot"]), (chief, sorted(boards))):
        _, found = await doors.ask(shown, "GET", "/v1/dashboards")
        assert sorted(found["dashboards"]) == names
        for name in (*boards, "nothing"):
            status, answer = await doors.ask(shown, "GET", f"/v1/dashboards/{name}")
            assert status == (200 if name in names else 404)
            if name not in names:
                says = f"there is no dashboard '{name}' that you may open"
                assert answer["detail"] == says
    # Nobody takes over what is of other apps, too, and nobody deletes it.
    status, answer = await doors.ask(worker, "PUT", "/v1/dashboards/both", boards["hot"])
    assert (status, "the right to operate on app 'Cold'" in answer["detail"]) == (403, True)
    assert (await doors.ask(worker, "DELETE", "/v1/dashboards/both"))[0] == 404
    assert (await doors.ask(viewer, "DELETE", "/v1/dashboards/hot"))[0] == 403
    assert (await doors.ask(worker, "DELETE", "/v1/dashboards/hot"))[0] == 200
    assert (await doors.ask(chief, "DELETE", "/v1/dashboards/none"))[0] == 200


async def until_it_ends(stream: aiohttp.ClientResponse) -> None:
    """As a connection that is closed, in whatever way."""
    async with asyncio.timeout(30):
        with contextlib.suppress(aiohttp.ClientError):
            while await stream.content.readany():
                pass


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"name": "x", "grants": []}, "good for nothing"),
        ({"name": "x", "grants": [{"role": "root"}]}, "no role 'root'"),
        ({"name": "x", "grants": [{"role": "view", "app": ""}]}, "which app"),
        ({"name": "a b", "grants": [{"role": "view"}]}, "no name for a token"),
        ({"name": "x", "grants": [{"role": "view"}], "expires_in_ms": 0}, "expires_in_ms"),
    ],
)
async def test_tokens_that_cannot_be_are_refused(doors: Doors, body: Any, says: str) -> None:
    """400 with what would do."""
    status, answer = await doors.ask(ROOT, "POST", "/v1/tokens", body)
    assert (status, says in answer["detail"]) == (400, True), answer


async def test_a_role_on_an_app_without_a_name_is_neither_given_nor_taken(doors: Doors) -> None:
    """It would be one everywhere."""
    await add(doors, "root", role="administer")
    for method in ("POST", "DELETE"):
        body = {"user": "root", "role": "administer", "app": ""}
        status, answer = await doors.ask(ROOT, method, "/v1/grants", body)
        assert (status, "which app" in answer["detail"]) == (400, True)
    _, answer = await doors.ask(ROOT, "GET", "/v1/users")
    assert answer["users"][0]["grants"] == [{"role": "administer", "app": "*"}]


async def test_a_removed_user_is_out_with_all_sessions(doors: Doors) -> None:
    """The last administrator cannot be removed."""
    await add(doors, "root", role="administer", password=PASSWORD)
    await add(doors, "ann", role="view", password=PASSWORD)
    ann = await log_in(doors, "ann")
    assert (await doors.ask(ann, "GET", "/v1/apps"))[0] == 200
    assert (await doors.ask(ROOT, "DELETE", "/v1/users/ann"))[0] == 200
    assert (await doors.ask(ann, "GET", "/v1/apps"))[0] == 401
    assert (await doors.ask(basic("ann", PASSWORD), "GET", "/v1/apps"))[0] == 401
    status, answer = await doors.ask(ROOT, "DELETE", "/v1/users/root")
    assert (status, "last user" in answer["detail"]) == (400, True)
    await add(doors, "bob", role="view", password=PASSWORD)
    status, answer = await doors.ask(ROOT, "DELETE", "/v1/users/root")
    assert (status, "could administer" in answer["detail"]) == (400, True)


async def test_a_new_password_ends_the_sessions_of_the_old_one(doors: Doors) -> None:
    """But for the one that changed it."""
    await add(doors, "root", role="administer", password=PASSWORD)
    one, other = await log_in(doors, "root"), await log_in(doors, "root")
    body = {"old": "not it", "new": "another long password"}
    assert (await doors.ask(one, "PUT", "/v1/me/password", body))[0] == 403
    body["old"] = PASSWORD
    assert (await doors.ask(one, "PUT", "/v1/me/password", body))[0] == 200
    assert (await doors.ask(one, "GET", "/v1/me"))[0] == 200
    assert (await doors.ask(other, "GET", "/v1/me"))[0] == 401
    assert (await doors.ask(basic("root", PASSWORD), "GET", "/v1/me"))[0] == 401


async def test_an_open_door_is_shut_by_the_first_user() -> None:
    """`lockstep run` on a laptop asks for nothing until then; the first one has to be able to
    administer."""
    async with running("coordinator", LOCKSTEP_SERVER__TOKEN="") as (doors, _):
        assert (await doors.ask(None, "GET", "/v1/me"))[1]["kind"] == "anybody"
        status, answer = await doors.ask(None, "PUT", "/v1/users/ann", {"role": "view"})
        assert (status, "could administer" in answer["detail"]) == (400, True)
        body = {"role": "administer", "password": PASSWORD}
        assert (await doors.ask(None, "PUT", "/v1/users/ann", body))[0] == 201
        assert (await doors.ask(None, "GET", "/v1/apps"))[0] == 401
        assert (await doors.ask(await log_in(doors, "ann"), "GET", "/v1/apps"))[0] == 200


async def test_changes_and_refusals_are_in_the_audit_log_and_looking_is_not(doors: Doors) -> None:
    """Who, what, with which answer; no secret, and only for administrators."""
    await add(doors, "root", role="administer", password=PASSWORD)
    await add(doors, "ann", role="view", password=PASSWORD)
    ann = await log_in(doors, "ann")
    assert (await doors.ask(ann, "GET", "/v1/apps"))[0] == 200
    assert (await doors.ask(ann, "POST", "/v1/apps/Hot/handover", {}))[0] == 403
    assert (await doors.ask(None, "GET", "/v1/nodes"))[0] == 401
    assert (await doors.ask(ann, "GET", "/v1/audit"))[0] == 403
    async with asyncio.timeout(30):
        while True:
            _, answer = await doors.ask(ROOT, "GET", "/v1/audit")
            told = {(e["who"], e["method"], e["path"], e["status"]) for e in answer["entries"]}
            if ("user ann", "GET", "/v1/audit", 403) in told:
                break
            await asyncio.sleep(0.05)
    assert told == {
        ("cluster", "PUT", "/v1/users/root", 201),
        ("cluster", "PUT", "/v1/users/ann", 201),
        ("user ann", "POST", "/v1/apps/Hot/handover", 403),
        ("nobody", "GET", "/v1/nodes", 401),
        ("user ann", "GET", "/v1/audit", 403),
    }
    assert PASSWORD not in str(answer)
    assert all(e["address"] == "127.0.0.1" for e in answer["entries"])
    _, of_app = await doors.ask(ROOT, "GET", "/v1/audit?app=Hot&who=user%20ann")
    assert [e["route"] for e in of_app["entries"]] == ["/v1/apps/{app}/handover"]
