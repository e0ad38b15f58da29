"""Agents of SNMP: one per source or sink, with the variables that the app has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from pysnmp.proto.api import v2c
from pysnmp.smi.error import GenError
from pysnmp.smi.instrum import AbstractMibInstrumController

from lockstep.siddhiql import ast
from tests.contract.connectors.snmp_peer import open_agent

PUBLIC = "public"


class Variables(AbstractMibInstrumController):  # type: ignore[misc]
    """Texts, by their names. `got` hears what is set; `asked`: somebody wants to know them."""

    def __init__(self, got: Callable[[bytes], None], *, asked: bool) -> None:
        self._texts: dict[str, str] = {}
        self._asked = asked
        self._got = got

    def put(self, texts: Mapping[str, str]) -> None:
        """What is asked for has these values from now on."""
        self._texts |= texts

    def read_variables(self, *pairs: Any, **_: Any) -> Any:
        """What is asked for is an error while nobody has put anything, in all versions alike. Who
        sets variables asks for their types."""
        if self._asked and not self._texts:
            raise GenError(name=pairs[0][0], idx=1)
        texts = ((name, self._texts.get(str(name), "")) for name, _ in pairs)
        return [(name, v2c.OctetString(text.encode())) for name, text in texts]

    def write_variables(self, *pairs: Any, **_: Any) -> Any:
        """All of a message, which is told as a form."""
        texts = {str(name): bytes(value).decode() for name, value in pairs}
        self._texts |= texts
        self._got(urlencode(texts).encode())
        return pairs


class Agent:
    """At the address that an annotation names."""

    def __init__(self, annotation: ast.Annotation, got: Callable[[bytes], None]) -> None:
        self.variables = Variables(got, asked=annotation.get("oids") is not None)
        community = annotation.get("community") or PUBLIC
        port = int(annotation.get("agent.port") or 0)
        self._engine = open_agent(port, community, self.variables)

    def close(self) -> None:
        """Nobody answers any more."""
        self._engine.close_dispatcher()
