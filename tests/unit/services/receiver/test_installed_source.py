"""The source of EXTENDING.md: declared, made and read as the page shows it."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from lockstep.clock import SystemClock
from lockstep.events import UnavailableError
from lockstep.siddhiql.catalogue import ExtensionKind, installed
from lockstep.sources import Place, Received, Source
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


@pytest.mark.parametrize(
    ("error", "ours", "says"),
    [
        (KeyError("port"), carried.SourceSetupError, "it does not take its options: 'port'"),
        (re.error("no"), carried.SourceSetupError, "it does not take its options: no"),
        (OSError("taken"), UnavailableError, "App/In.0: OSError: taken"),
    ],
)
def test_a_source_that_cannot_be_made_says_why(
    error: Exception, ours: type[Exception], says: str
) -> None:
    """Of whatever class the error is; a port that is taken may become free."""

    def make(options: Mapping[str, str], place: Place) -> Source:
        raise error

    place = Place("App", "In", 0, "127.0.0.1", SystemClock())
    with pytest.raises(ours, match=re.escape(says)):
        carried.CarriedMailbox(make, {}, place)


async def test_what_fails_when_it_is_closed_says_why() -> None:
    """As when it is read."""

    class Broken(Source):
        async def close(self) -> Sequence[Received]:
            raise RuntimeError("no way")

    place = Place("App", "In", 0, "127.0.0.1", SystemClock())
    mailbox = carried.CarriedMailbox(lambda *_: Broken(), {}, place)
    with pytest.raises(carried.SourceFailedError, match="RuntimeError: no way"):
        await mailbox.close()


def test_a_source_that_nothing_makes_is_none_that_the_receiver_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be looked for on the bus, every few seconds, for ever."""
    module = shown()
    module.__dict__["SOURCES"] = {}
    (declared,) = module.EXTENSIONS
    monkeypatch.setattr(carried, "modules", lambda: (module,))
    monkeypatch.setattr(installed, "modules", lambda: (module,))
    monkeypatch.setattr(carried, "find_type", lambda *_: declared)
    with pytest.raises(carried.SourceSetupError, match="nothing that makes it") as told:
        carried.carrier_of("datagrams")
    assert told.value.hint == "it needs an entry 'datagrams' in SOURCES"
