"""The control plane against real servers: deploy, validate, place, status, forward, undeploy."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from lockstep.embedded import EmbeddedServers
from tests.contract.proxy import Proxy
from tests.integration.services.cluster import STEADY, Cluster, until
from tests.integration.services.conftest import Start

TEXT = "@app:name('{name}') define stream In (a int); from In select a insert into Out;"
KNOWN: Final = (
    "lockstep_coordinator_leading",
    "lockstep_coordinator_processors_alive",
    "lockstep_coordinator_apps",
)
FOLLOWS: Final = {"lockstep_coordinator_leading": "0.0"}
LEADS: Final = {
    "lockstep_coordinator_leading": "1.0",
    "lockstep_coordinator_processors_alive": "0.0",
    'lockstep_coordinator_apps{state="desired"}': "0.0",
}
INVALID = "@app:name('Broken')\ndefine stream In (a int);\nfrom Inn select a insert into Out;"


async def test_an_invalid_app_is_refused_with_its_place(cluster_of: Start) -> None:
    """400 with line, column and hint on all routes; nothing is stored."""
    async with cluster_of("coordinator") as cluster:
        status, answer = await cluster.call(
            "PUT", "coordinator", "/v1/apps", json={"text": INVALID}
        )
        assert (status, answer["line"]) == (400, 3)
        status, answer = await cluster.call(
            "POST", "coordinator", "/v1/validate", json={"text": INVALID}
        )
        assert (status, answer["valid"], answer["errors"][0]["line"]) == (200, False, 3)
        status, answer = await cluster.call("POST", "coordinator", "/siddhi-apps", body=INVALID)
        assert (status, answer.get("code")) == (400, 800101), answer
        assert (await cluster.call("GET", "coordinator", "/siddhi-apps"))[1] == []
        status, answer = await cluster.call("PUT", "coordinator", "/v1/apps", json={"txt": 1})
        assert (status, "text" in answer["detail"]) == (400, True)


async def test_what_a_deployment_would_come_to(cluster_of: Start) -> None:
    """Asked beforehand, of any coordinator; nothing is deployed."""
    text = (
        "@app:name('{name}') define stream In (a int); @info(name='s')"
        " from In#window.length({size}) select sum(a) as n insert into Out;"
    )

    async with cluster_of("coordinator") as cluster:

        async def asked(text: str) -> Any:
            return await cluster.call("POST", "coordinator", "/v1/preview", json={"text": text})

        first, second = (text.format(name="Look", size=size) for size in (2, 3))
        status, answer = await asked(first)
        assert (status, answer["created"], answer["begins_empty"]) == (200, True, [])
        assert (await cluster.call("GET", "coordinator", "/v1/apps/Look"))[0] == 404
        await cluster.call("PUT", "coordinator", "/v1/apps", json={"text": first})
        assert (await asked(first))[1]["changed"] is False
        status, answer = await asked(second)
        assert (status, answer["created"], answer["changed"]) == (200, False, True)
        assert answer["begins_empty"] == ["query 's' (changed: its windows, functions or pattern)"]
        (everything,) = (await asked(second.replace("'Look')", "'Look') @app:playback")))[1][
            "begins_empty"
        ]
        assert everything.startswith("everything (")
        assert (await asked(INVALID))[0] == 400
        status, there = await cluster.call("GET", "coordinator", "/v1/apps/Look")
        assert (there["text"], there["generation"]) == (first, 1)


async def test_what_cutting_an_app_would_come_to(cluster_of: Start) -> None:
    """Asked with the number of partitions; else with that of the app that is there."""
    text = (
        "@app:name('Cut') define stream In (k string, v long);"
        " from In#window.time(1 hour) select k, sum(v) as n group by k insert into Sums;"
    )
    other = text.replace("1 hour", "2 hours")

    async with cluster_of("coordinator") as cluster:

        async def asked(**wish: Any) -> Any:
            status, answer = await cluster.call("POST", "coordinator", "/v1/preview", json=wish)
            assert status == 200, answer
            return answer

        await cluster.call("PUT", "coordinator", "/v1/apps", json={"text": text})
        assert (await asked(text=text, parallel=1))["changed"] is False
        cut = await asked(text=text, parallel=3)
        assert (cut["created"], cut["changed"]) == (False, True)
        assert cut["begins_empty"] == ["query 'query_1' (its state is kept otherwise)"]
        await cluster.call("PUT", "coordinator", "/v1/apps", json={"text": text, "parallel": 3})
        assert (await asked(text=text))["changed"] is False
        wider = await asked(text=text, parallel=5)
        assert (wider["changed"], wider["begins_empty"]) == (True, [])
        changed = "query 'query_1' (changed: its windows, functions or pattern)"
        assert (await asked(text=other))["begins_empty"] == [changed]
        whole = (await asked(text=text, parallel=1))["begins_empty"]
        assert whole == []


async def test_the_older_products_routes(cluster_of: Start) -> None:
    """Create, conflict, replace, list, text, status, delete, not found."""
    async with cluster_of("coordinator", "processor-1") as cluster:
        text = TEXT.format(name="Old")

        async def call(method: str, path: str, body: str | None = None) -> Any:
            return await cluster.call(method, "coordinator", f"/siddhi-apps{path}", body=body)

        status, answer = await call("POST", "", text)
        assert (status, answer["type"]) == (201, "success")
        assert (await call("POST", "", text))[0] == 409
        assert (await call("PUT", "", text.replace("In", "Inn")))[0] == 200
        assert (await call("GET", ""))[1] == ["Old"]
        assert (await call("GET", "/Old"))[1] == {"content": text.replace("In", "Inn")}

        async def active() -> Any:
            return (await call("GET", "/Old/status"))[1] == {"status": "active"}

        await until(active, "active")
        assert (await call("GET", "?isActive=true"))[1] == ["Old"]
        assert (await call("DELETE", "/Old"))[0] == 200
        assert (await call("DELETE", "/Old"))[0] == 404
        assert (await call("GET", "/Old"))[0] == 404


async def test_replicas_follow_the_living_processors(cluster_of: Start) -> None:
    """Two of three carry it; a lost one is replaced; the app goes on."""
    nodes = ("coordinator", "processor-1", "processor-2", "processor-3")
    async with cluster_of(*nodes) as cluster:
        app = await cluster.deploy(TEXT.format(name="Placed"), replicas=2)
        first = await cluster.active(app)
        await cluster.crash(first)

        async def replaced() -> Any:
            status = await cluster.status(app)
            return first not in status["nodes"] and len(status["nodes"]) == 2

        await until(replaced, "a replacement")
        found = await cluster.settled(app, 2)
        assert first not in [replica["node"] for replica in found]


async def test_another_coordinator_takes_over_and_forwards_meanwhile(cluster_of: Start) -> None:
    """Writes to the follower reach the leader; after its loss the follower leads."""
    async with cluster_of("coordinator-1", "coordinator-2", "processor-1") as cluster:

        async def leaders() -> Any:
            _, answer = await cluster.call("GET", "coordinator", "/v1/nodes")
            found = [n for n in answer["nodes"] if n["service"] == "coordinator"]
            leading = [n["node"] for n in found if n["leading"]]
            return leading if len(found) == 2 and len(leading) == 1 else None

        (leader,) = await until(leaders, "two coordinators, one leads")
        follower = next(n for n in cluster.nodes if n.startswith("coor") and n != leader)
        async with cluster.session.put(
            f"{cluster.nodes[follower].url}/v1/apps", json={"text": TEXT.format(name="Fwd")}
        ) as response:
            assert response.status == 201
        await cluster.settled("Fwd", 1)
        await cluster.crash(leader)

        async def written() -> Any:
            async with cluster.session.put(
                f"{cluster.nodes[follower].url}/v1/apps", json={"text": TEXT.format(name="Next")}
            ) as response:
                return response.status == 201

        await until(written, "the follower leads")
        await cluster.settled("Next", 1)


async def test_the_coordinator_that_leads_says_so_and_no_other(cluster_of: Start) -> None:
    """In its metrics, with what only a leader knows; when it leads no more that is gone."""

    async def shown(cluster: Cluster, node: str) -> dict[str, str]:
        async with cluster.session.get(f"{cluster.nodes[node].url}/metrics") as response:
            lines = (await response.text()).splitlines()
        found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: value for name, value in found.items() if name.startswith(KNOWN)}

    async with cluster_of("coordinator-1", "coordinator-2", **STEADY) as cluster:

        async def leads() -> str | None:
            pages = {node: await shown(cluster, node) for node in cluster.nodes}
            leading = [node for node, page in pages.items() if page == LEADS]
            others = [page for page in pages.values() if page == FOLLOWS]
            return leading[0] if len(leading) == 1 and len(others) == len(pages) - 1 else None

        first = await until(leads, "one says that it leads")
        await cluster.nodes[first].process.running.contexts["coordinator"].tasks.stop_all()
        assert await shown(cluster, first) == FOLLOWS
        await cluster.stop(first)
        assert await until(leads, "the other one says so") != first


async def test_processing_goes_on_without_a_coordinator(cluster_of: Start) -> None:
    """Events in, rows out, while no coordinator lives."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        app = await cluster.deploy(TEXT.format(name="Alone"))
        await cluster.crash("coordinator")
        await cluster.send(app, "In", {"a": 1})
        assert [row.data for row in await cluster.published_count(app, 1)] == [(1,)]


async def test_an_undeployed_app_is_gone_and_its_purged_log_begins_anew(cluster_of: Start) -> None:
    """Without purge the same text goes on; with purge positions restart."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        text = (
            "@app:name('Again') define stream In (a int);"
            " from In select count() as n insert into Out;"
        )
        app = await cluster.deploy(text)
        await cluster.send(app, "In", {"a": 1})
        await cluster.published_count(app, 1)

        async def remove(query: str) -> None:
            status, _ = await cluster.call("DELETE", "coordinator", f"/v1/apps/{app}{query}")
            assert status == 200

            async def unknown() -> Any:
                _, answer = await cluster.call(
                    "POST", "receiver", f"/v1/apps/{app}/streams/None/events", json={}
                )
                return "no app named" in answer["detail"]

            await until(unknown, "404")

        await cluster.snapshot(app)
        await remove("")
        await cluster.deploy(text)
        await cluster.send(app, "In", {"a": 1})
        assert [row.data[0] for row in await cluster.published_count(app, 2)] == [1, 2]
        await remove("?purge=true")
        await cluster.deploy(text)
        await cluster.send(app, "In", {"a": 1})
        assert [row.data[0] for row in await cluster.published_count(app, 1)] == [1]


async def test_a_revision_that_cannot_be_stored_is_to_be_asked_for_again(
    cluster_of: Start, servers: EmbeddedServers
) -> None:
    """503 with Retry-After while the processors' PostgreSQL is away; what the caller has to mend
    is a 409, in the older product's words as well.
    """
    address = urlsplit(servers.postgres_dsn)
    assert address.port is not None
    async with Proxy(address.port) as way, cluster_of("coordinator", "receiver") as cluster:
        own = urlsplit(cluster.environment["LOCKSTEP_STORE__POSTGRES_DSN"])
        login = f"{own.username}:{own.password}@" if own.password else f"{own.username}@"
        through = own._replace(netloc=f"{login}127.0.0.1:{way.port}")
        await cluster.start("processor-1", LOCKSTEP_STORE__POSTGRES_DSN=through.geturl())
        app = await cluster.deploy(TEXT.format(name="Unstored"))
        await cluster.send(app, "In", {"a": 1})
        await cluster.published_count(app, 1)
        way.refuse = True
        way.cut()
        for path in (f"/v1/apps/{app}/snapshot", f"/siddhi-apps/{app}/backup"):

            async def told(path: str = path) -> bool:
                async with cluster.session.post(cluster.url("coordinator") + path) as response:
                    answer = await response.json()
                    assert response.status == 503, answer
                    assert response.headers["Retry-After"] == "1"
                    return "PostgreSQL is away" in answer["detail"]

            await until(told, f"{path}: why it cannot be stored")
        status, answer = await cluster.asked(
            "POST", f"/v1/apps/{app}/handover", json={"node": "nobody"}
        )
        assert (status, answer["detail"]) == (409, "'nobody' is no standby of this app")
        way.refuse = False

        async def taken() -> Any:
            status, answer = await cluster.call("POST", "coordinator", f"/v1/apps/{app}/snapshot")
            assert status in (200, 503), answer
            return status == 200

        await until(taken, "a revision once PostgreSQL is back")
