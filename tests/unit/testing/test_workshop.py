"""Anybody's text in a process of its own: what it carries comes back, too much ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.testing.workshop import Limits, Workshop, WorkshopError

pytestmark = pytest.mark.processes

LIMITS = Limits(memory_bytes=2 << 30, cpu_s=60, answer_s=5.0)
APP = """@app:name('Hot')
define stream Reading (room string, celsius double);
@info(name='hot')
from Reading[celsius > 30.0] select room insert into HotRoom;
"""
ENDLESS = """@app:name('Endless')
define function spin[python] return string { import time; time.sleep(600) };
define stream In (v string);
from In select spin(v) as v insert into Out;
"""


async def test_a_workshop_plays_and_writes_the_test() -> None:
    """Rows of every stream come back, mistakes are answers, and the calls become a test file."""
    shop = await Workshop.open(LIMITS)
    try:
        wrong = await shop.ask({"do": "open", "text": APP.replace("celsius >", "heat >")})
        assert (wrong["error"]["line"], wrong["error"]["hint"] is not None) == (4, True)
        assert (await shop.ask({"do": "open", "text": APP}))["app"] == "Hot"
        rows = [["attic", 31.5], ["hall", 20.0]]
        found = await shop.ask({"do": "send", "stream": "Reading", "rows": rows})
        assert found["streams"]["HotRoom"] == [[0, "attic"]]
        calls = "--- test: hot\nReading - attic 31.5\n"
        written = await shop.ask({"do": "test", "text": APP, "calls": calls})
        assert written["file"] == f"{calls}  => hot: C 0[attic]\n"
    finally:
        await shop.close()


async def test_code_without_an_end_is_ended() -> None:
    """It waits, which counts no steps. The process goes, and the next command says so."""
    shop = await Workshop.open(LIMITS)
    assert "error" not in await shop.ask({"do": "open", "text": ENDLESS})
    with pytest.raises(WorkshopError, match="more than 5 s"):
        await shop.ask({"do": "send", "stream": "In", "rows": [["x"]]})
    assert not shop.is_open
    with pytest.raises(WorkshopError, match="has ended"):
        await shop.ask({"do": "advance", "by_ms": 1})


async def test_code_of_an_author_is_run_for_nobody_who_may_not_run_code(tmp_path: Path) -> None:
    """The text is refused before anything of it runs; without code it is played as ever."""
    mark = tmp_path / "ran"
    text = f"""@app:name('Coded')
define function leave[python] return int {{ open({str(mark)!r}, 'w').close(); return 1 }};
define stream In (v int);
@info(name='q') from In select leave() as v insert into Out;
"""
    calls = "--- test: it\nIn - 1\n"
    shop = await Workshop.open(LIMITS)
    try:
        for command in ({"do": "open"}, {"do": "test", "calls": calls}):
            said = await shop.ask({**command, "text": text, "code": False})
            assert "not the right to run code (define function leave)" in said["error"]["message"]
            assert not mark.exists()
        assert (await shop.ask({"do": "open", "text": APP, "code": False}))["app"] == "Hot"
        await shop.ask({"do": "test", "text": text, "calls": calls, "code": True})
        assert mark.exists()
    finally:
        await shop.close()


async def test_functions_in_javascript_fit_into_a_workshop() -> None:
    """Their engine keeps to the address space that there is; one that takes too much is set
    aside, and the next event is not."""
    text = """@app:name('Script')
define function twice[JavaScript] return string {
  var room = data[0];
  return room === "all" ? "x".repeat(1 << 28) : room + room;
};
define stream In (v string);
from In select twice(v) as v insert into Out;
"""
    shop = await Workshop.open(Limits(memory_bytes=2 << 30, cpu_s=60, answer_s=60.0))
    try:
        assert "error" not in await shop.ask({"do": "open", "text": text})
        rows = [["a"], ["all"], ["b"]]
        found = [await shop.ask({"do": "send", "stream": "In", "rows": [row]}) for row in rows]
        assert [one["streams"].get("Out") for one in found] == [[[0, "aa"]], None, [[0, "bb"]]]
        assert "limits.function_bytes" in str(found[1]["faults"])
    finally:
        await shop.close()
