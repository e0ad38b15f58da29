"""What stands before the console's pages: hosts, origins, headers, and the log-in."""

from __future__ import annotations

import os

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from lockstep_services.console import figures
from lockstep_services.console.login import path_within


@pytest.fixture
def door(application: FastAPI) -> AsyncClient:
    """Who asks it."""
    return AsyncClient(transport=ASGITransport(app=application), base_url="http://127.0.0.1:8260")


async def test_strangers_are_refused(door: AsyncClient) -> None:
    """Neither a name that only points here nor a page from elsewhere gets through."""
    assert (await door.get("/healthz")).status_code == 200
    assert (await door.get("/healthz", headers={"Host": "evil.example"})).status_code == 403
    refused = await door.post("/logout", headers={"Origin": "http://evil.example"})
    assert (refused.status_code, "evil.example" in refused.text) == (403, True)


async def test_who_asks_whether_it_is_ready_learns_which_process_it_is(door: AsyncClient) -> None:
    """Whoever has started one can tell it from another at the same port."""
    assert (await door.get("/readyz")).json()["pid"] == os.getpid()


async def test_who_asks_for_the_head_alone_is_answered(door: AsyncClient) -> None:
    """As load balancers do."""
    for path in ("/healthz", "/health", "/readyz", "/metrics"):
        asked, headed = await door.get(path), await door.head(path)
        assert headed.status_code == asked.status_code != 404
        assert headed.headers["content-type"] == asked.headers["content-type"]


async def test_what_is_not_there_is_told_in_few_words(door: AsyncClient) -> None:
    """Which version of what makes the pages is nobody's business."""
    for path in ("/nowhere", "/_nicegui/nothing", "/assets/nothing", "/apps/a/b"):
        answer = await door.get(path)
        assert answer.status_code == 404
        assert len(answer.content) < 100
        assert "nicegui" not in str(answer.headers).lower() + answer.text.lower()


async def test_addresses_with_control_characters_are_refused(door: AsyncClient) -> None:
    """In the path and behind the question mark."""
    for address in ("/login%00", "/login?to=%0a", "/apps/%7f", "/login?to=%C2%85"):
        answer = await door.get(address)
        assert (answer.status_code, "control characters" in answer.text) == (403, True)


async def test_every_answer_carries_the_policy(door: AsyncClient) -> None:
    """Nothing is loaded from elsewhere, and no other page may frame these."""
    for path in ("/healthz", "/login", "/assets/console.css", "/nowhere"):
        policy = (await door.get(path)).headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy


async def test_log_in_escapes_and_stays_here(door: AsyncClient) -> None:
    """A page to go to is a path of the console, and its text is never markup."""
    page = (await door.get("/login", params={"to": '/apps"><script>'})).text
    assert "<script>&quot;" not in page
    assert '"><script>' not in page
    assert path_within("/apps/Hot?x=1") == "/apps/Hot?x=1"
    for elsewhere in ("//evil.example", "https://evil.example", "/\\evil.example", "apps"):
        assert path_within(elsewhere) == "/"


def test_figures_are_short() -> None:
    """People read 12.3k, not 12345; small numbers stay exact."""
    assert [figures.count(each) for each in (0, 7.25, 9_999, 12_345, 3_400_000)] == [
        "0", "7.2", "9,999", "12.3k", "3.4M",
    ]  # fmt: skip
    assert [figures.duration(each) for each in (0, 950, 4_200, 90_000, 7_200_000)] == [
        "0 ms", "950 ms", "4.2 s", "90 s", "2 h",
    ]  # fmt: skip
    assert figures.moment_ms("2026-03-01 09:59") == figures.moment_ms("2026-03-01T10:59+01:00")
    assert figures.moment(figures.moment_ms("2026-03-01") or 0) == "2026-03-01 00:00:00"
    assert figures.moment_ms("yesterday") is None
    assert [figures.size(each) for each in (827, 2_048, 5_242_880)] == ["827 B", "2.0 KB", "5.0 MB"]
    assert [figures.value(each) for each in (None, True, 1.5, "<b>")] == ["–", "true", "1.5", "<b>"]
    assert figures.value({"é": [None, True]}) == '{"é": [null, true]}'
