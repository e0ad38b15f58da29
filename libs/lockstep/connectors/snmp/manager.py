"""Asks one agent, in versions 1, 2c and 3 of SNMP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pysnmp.error import PySnmpError
from pysnmp.hlapi.v3arch import asyncio as snmp

from lockstep.connectors.endpoints import opening
from lockstep.connectors.snmp import AUTHENTICATIONS, LEVELS, PRIVACIES, VERSIONS, level_of

PORT: Final = 161
TIMEOUT_MS: Final = 1_500
RETRIES: Final = 5
COMMUNITY: Final = "public"
_AUTHENTICATIONS: Final = dict(
    zip(
        AUTHENTICATIONS,
        (
            snmp.USM_AUTH_HMAC96_MD5, snmp.USM_AUTH_HMAC96_SHA, snmp.USM_AUTH_HMAC128_SHA224,
            snmp.USM_AUTH_HMAC192_SHA256, snmp.USM_AUTH_HMAC256_SHA384,
            snmp.USM_AUTH_HMAC384_SHA512,
        ),
        strict=True,
    )
)  # fmt: skip
_PRIVACIES: Final = dict(
    zip(
        PRIVACIES,
        (
            snmp.USM_PRIV_CBC56_DES, snmp.USM_PRIV_CBC168_3DES, snmp.USM_PRIV_CFB128_AES,
            snmp.USM_PRIV_CFB192_AES, snmp.USM_PRIV_CFB256_AES,
        ),
        strict=True,
    )
)  # fmt: skip


class SnmpStatusError(Exception):
    """The agent's answer is an error: `status` by its name, `oid` where it has to do with one."""

    def __init__(self, status: str, oid: str | None) -> None:
        super().__init__(f"{status}" if oid is None else f"{status} for {oid}")
        self.status = status


class Manager:
    """Options: `host`, `agent.port`, `version`, `community`, `timeout`, `retries`; of version 3
    `user.name`, `security.lvl`, `auth.protocol` … OSError: no answer that can be used."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._address = options["host"], int(options.get("agent.port", PORT))
        self._timeout_s = int(options.get("timeout", TIMEOUT_MS)) / 1000
        self._retries = int(options.get("retries", RETRIES))
        self._login = _login(dict(options))
        self._engine: Any = None
        self._target: Any = None

    async def get(self, oids: Sequence[str]) -> dict[str, Any]:
        """Values by name. SnmpStatusError."""
        return await self._asked(snmp.get_cmd, [(oid, None) for oid in oids])

    async def set(self, values: Mapping[str, Any]) -> None:
        """All of them or none. SnmpStatusError."""
        await self._asked(snmp.set_cmd, list(values.items()))

    def close(self) -> None:
        """Idempotent."""
        engine, self._engine, self._target = self._engine, None, None
        if engine is not None:
            engine.close_dispatcher()

    async def _asked(self, command: Any, values: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        variables = [
            snmp.ObjectType(snmp.ObjectIdentity(oid), *(() if value is None else (value,)))
            for oid, value in values
        ]
        try:
            await self._open()
            failed, status, index, answered = await command(
                self._engine, self._login, self._target, snmp.ContextData(), *variables,
                lookupMib=False,
            )  # fmt: skip
        except PySnmpError as error:
            self.close()
            raise OSError(f"{self._shown}: {str(error)[:300]}") from error
        if failed:
            self.close()  # with what it had learnt of the agent
            raise OSError(f"{self._shown}: {failed}")
        if status:
            at = int(index)
            oid = values[at - 1][0] if 0 < at <= len(values) else None
            raise SnmpStatusError(str(status.prettyPrint()), oid)
        return {str(oid): value for oid, value in answered}

    async def _open(self) -> None:
        if self._engine is None:
            # It reads its files, which takes a tenth of a second.
            self._engine = await asyncio.to_thread(snmp.SnmpEngine)
            is_v6 = ":" in self._address[0]
            kind = snmp.Udp6TransportTarget if is_v6 else snmp.UdpTransportTarget
            try:
                with opening(self._shown):
                    self._target = await kind.create(
                        self._address, timeout=self._timeout_s, retries=self._retries
                    )
            except OSError:
                self.close()  # the next attempt looks for the agent, too
                raise

    @property
    def _shown(self) -> str:
        return f"the agent at {self._address[0]}:{self._address[1]}"


def _login(options: dict[str, str]) -> Any:
    version = options["version"].strip().lower()
    if version != VERSIONS[2]:
        model = VERSIONS.index(version)
        return snmp.CommunityData(options.get("community", COMMUNITY), mpModel=model)
    level = level_of(options)
    secrets: dict[str, Any] = {}
    if level != LEVELS[2]:
        secrets["authKey"] = options["auth.password"]
        name = options.get("auth.protocol", AUTHENTICATIONS[1]).strip().upper()
        secrets["authProtocol"] = _AUTHENTICATIONS[name]
    if level == LEVELS[0]:
        secrets["privKey"] = options["priv.password"]
        name = options.get("priv.protocol", PRIVACIES[2]).strip().upper()
        secrets["privProtocol"] = _PRIVACIES[name]
    return snmp.UsmUserData(options["user.name"], **secrets)
