"""The source of EXTENDING.md: declared, made and read as the page shows it."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from lockstep.clock import SystemClock
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.sources import Place
from lockstep_services.receiver import carried

PAGE = Path(__file__).parents[4] / "libs/lockstep/EXTENDING.md"


def shown() -> ModuleType:
    """The module of the page that has SOURCES."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (text,) = (block for block in blocks if "SOURCES" in block)
    module = ModuleType("datagrams")
    exec(text, module.__dict__)
    return module


async def test_the_source_works_exactly_as_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by its type among what is installed; what is sent to it comes out with properties."""
    module = shown()
    (declared,) = module.EXTENSIONS
    assert (declared.kind, declared.name) == (ExtensionKind.SOURCE, "datagrams")
    monkeypatch.setattr(carried, "modules", lambda: (module,))
    monkeypatch.setattr(carried, "find_type", lambda *_: SimpleNamespace(name="datagrams"))
    maker = carried.carrier_of("datagrams")
    assert maker is not None
    assert carried.is_shared(maker)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = Place("App", "In", 0, "127.0.0.1", SystemClock())
    mailbox = carried.CarriedMailbox(maker, {"port": str(port)}, place)
    assert await mailbox.read(max_messages=1, wait_ms=1) == []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"hello", ("127.0.0.1", port))
        (mail,) = await mailbox.read(max_messages=5, wait_ms=5_000)
    assert (mail.payload, mail.headers, mail.id) == (b"hello", {"sender": "127.0.0.1"}, None)
    assert await mailbox.close() == []
