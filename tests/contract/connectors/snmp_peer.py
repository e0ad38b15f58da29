"""An agent of SNMP in this process, in versions 1, 2c and 3."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config, engine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.proto.api import v2c
from pysnmp.smi.instrum import AbstractMibInstrumController

BASE: Final = (1, 3, 6, 1, 4, 1, 99999)
VALUES: Final = (
    v2c.OctetString(b"here"), v2c.Integer32(7), v2c.TimeTicks(531_305), v2c.Counter64(2**40),
    v2c.IpAddress("1.2.3.4"), v2c.OctetString(b"\xff\x00"), v2c.ObjectIdentifier("1.3.6.1"),
    v2c.Gauge32(3),
)  # fmt: skip
"""Of the variables 1, 2, … below the base."""
USER: Final = {
    "user.name": "ann", "auth.password": "authpass1", "priv.password": "privpass1",
    "auth.protocol": "AUTHHMAC192SHA256", "priv.protocol": "PRIVAES128",
}  # fmt: skip
COMMUNITY: Final = "area51"


def oid(number: int) -> str:
    """Of a variable."""
    return ".".join(map(str, (*BASE, number, 0)))


@contextlib.asynccontextmanager
async def snmp_agent(port: int) -> AsyncIterator[Callable[[int], Any]]:
    """Takes requests until it is left; gives the value that a variable has now. Variable 8 can only
    be read."""
    agent = engine.SnmpEngine()
    transport = udp.UdpTransport().open_server_mode(("127.0.0.1", port))
    config.add_transport(agent, udp.DOMAIN_NAME, transport)
    config.add_v1_system(agent, "area", COMMUNITY)
    for model in (1, 2):
        config.add_vacm_user(agent, model, "area", "noAuthNoPriv", (1, 3, 6), (1, 3, 6))
    config.add_v3_user(
        agent, USER["user.name"],
        config.USM_AUTH_HMAC192_SHA256, USER["auth.password"],
        config.USM_PRIV_CFB128_AES, USER["priv.password"],
    )  # fmt: skip
    config.add_vacm_user(agent, 3, USER["user.name"], "authPriv", (1, 3, 6), (1, 3, 6))
    served = context.SnmpContext(agent)
    builder = served.get_mib_instrum().get_mib_builder()
    scalar, instance = builder.import_symbols("SNMPv2-SMI", "MibScalar", "MibScalarInstance")
    instances = []
    for number, value in enumerate(VALUES, start=1):
        access = "read-only" if number == len(VALUES) else "read-write"
        one = scalar((*BASE, number), value.clone()).setMaxAccess(access)
        instances.append(instance((*BASE, number), (0,), value.clone()))
        builder.export_symbols(f"__VARIABLE{number}", one, instances[-1])
    cmdrsp.GetCommandResponder(agent, served)
    cmdrsp.SetCommandResponder(agent, served)
    try:
        yield lambda number: instances[number - 1].syntax
    finally:
        agent.close_dispatcher()


def open_agent(port: int, community: str, variables: AbstractMibInstrumController) -> Any:
    """An agent of versions 1 and 2c, on the running loop. `close_dispatcher` ends it."""
    agent = engine.SnmpEngine()
    transport = udp.UdpTransport().open_server_mode(("127.0.0.1", port))
    config.add_transport(agent, udp.DOMAIN_NAME, transport)
    config.add_v1_system(agent, "area", community)
    for model in (1, 2):
        config.add_vacm_user(agent, model, "area", "noAuthNoPriv", (1, 3, 6), (1, 3, 6))
    served = context.SnmpContext(agent)
    served.unregister_context_name(b"")
    served.register_context_name(b"", variables)
    cmdrsp.GetCommandResponder(agent, served)
    cmdrsp.SetCommandResponder(agent, served)
    return agent
