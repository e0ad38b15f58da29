"""Paths of apps and their streams at the suite's HTTP doors. A name may hold any character."""

from __future__ import annotations

from urllib.parse import quote


def app_path(app: str) -> str:
    """/v1/apps/<app>, in front of what a request wants of it."""
    return f"/v1/apps/{quote(app, safe='')}"


def stream_path(app: str, stream: str) -> str:
    """/v1/apps/<app>/streams/<stream>."""
    return f"{app_path(app)}/streams/{quote(stream, safe='')}"
