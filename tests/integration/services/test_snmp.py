"""Variables of an agent in a whole suite: read by one receiver at a time, and set."""

from __future__ import annotations

from urllib.parse import urlencode

from lockstep.connectors.snmp.sink import SnmpSink
from lockstep.testing.connectors import message
from tests.contract.connectors.brokers import free_port
from tests.contract.connectors.snmp_peer import COMMUNITY, oid, snmp_agent
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "receiver-1", "receiver-2", "publisher-1")


async def test_an_agent_is_asked_on_when_its_receiver_dies_and_its_variables_are_set(
    cluster_of: Start,
) -> None:
    """Whoever has the lease asks. The app sets one variable when another one has changed."""
    port = free_port()
    login = {
        "host": "127.0.0.1", "version": "v2c", "agent.port": str(port), "community": COMMUNITY,
    }  # fmt: skip
    named = ", ".join(f"{name}='{value}'" for name, value in login.items())
    other = SnmpSink(login)

    async def change(number: int, value: str) -> None:
        """As somebody else does."""
        payload = urlencode({oid(number): value}).encode()
        await other.send(message(1, payload=payload))

    async with snmp_agent(port) as now, cluster_of(*NODES) as cluster:
        app = await cluster.deploy(
            f"@app:name('Agent') @source(type='snmp', {named}, oids='{oid(1)}, {oid(2)}',"
            " request.interval='100', @map(type='keyvalue',"
            f" @attributes(name='{oid(1)}', count='{oid(2)}')))"
            " define stream In (name string, count int);"
            f" @sink(type='snmp', {named}, @map(type='keyvalue', @payload('{oid(6)}'='said')))"
            " define stream Out (said string);"
            " from every e1=In, e2=In[count != e1.count]"
            " select str:concat(e2.name, ':', e2.count) as said insert into Out;"
        )

        async def is_set(said: str) -> bool:
            return bytes(now(6)) == said.encode()

        async def is_read() -> bool:
            return bool(await cluster.taken_in(app))

        await until(is_read, "a first answer")
        await change(2, "8")
        await until(lambda: is_set("here:8"), "the variable after a change")
        reader = await cluster.watcher.leases.holder(f"source/{app}/In.0")
        assert reader in ("receiver-1", "receiver-2")
        await cluster.crash(reader)
        await change(2, "9")
        await until(lambda: is_set("here:9"), "the variable when another receiver asks")
    await other.close()
