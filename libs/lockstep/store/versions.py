"""Versions of apps: what is kept of each text that was deployed, and how it is read.

They are written with deployments (`contract.Deployments.put`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class HowDeployed(StrEnum):
    """How a text came to be what is deployed."""

    FRESH = "fresh"
    """There was no such app."""
    UPGRADE = "upgrade"
    TEMPLATE = "template"
    """Made of a template's parameters."""
    RESTORE = "restore"
    """A text that had been deployed before, or that a past which was called off gave way to."""
    EARLIER = "earlier"
    """It was deployed when versions were not kept yet."""


@dataclass(frozen=True, slots=True)
class Deploying:
    """What is noted of a text that is deployed: who has asked for it, and how. `keep`: so many
    versions of the app are kept."""

    who: str
    how: HowDeployed
    keep: int


@dataclass(frozen=True, slots=True)
class AppVersion:
    """A text that was deployed, but for the text itself. Numbers of an app begin at 1 and are not
    used again until it is purged. `digest`: SHA-256 of the text, as in `Deployment.version`."""

    app: str
    number: int
    digest: str
    size_bytes: int
    deployed_ms: int
    who: str
    how: HowDeployed


class AppVersions(Protocol):
    """The texts that were deployed under each name, as `Deployments.put` noted them. They stay when
    the app is undeployed, until it is purged."""

    async def list(self, app: str) -> Sequence[AppVersion]:
        """Newest first; none of an app that nobody knows."""

    async def text(self, app: str, number: int) -> str | None:
        """The text of one; None when it is not there."""
