"""How a deployment is stored: as the first release did it, which knew of settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from lockstep.events import Life
from lockstep.events.typed import from_json
from lockstep.store.contract import (
    Deployment,
    Exclusion,
    Former,
    Origin,
    Past,
    Removed,
    Restoration,
)
from lockstep.store.sink_numbers import NO_NUMBERS, SinkNumbers

_POSITION: Final = "origin_position"
_LOGS_SINCE: Final = "logs_since_ms"
_REVISION: Final = "restore_revision"
_NUMBER: Final = "restore_generation"
_EXCLUSIONS: Final = "exclusions"
_PAST: Final = "past"
_PARALLEL: Final = "parallel"
_LAYOUT: Final = "layout"
_FORMER: Final = "former_layout"
_RULES: Final = "layout_rules"
_SINKS: Final = "sink_numbers"
_FIRST_RULES: Final = 1
OWN_SETTINGS: Final = frozenset(
    {
        _POSITION,
        _LOGS_SINCE,
        _REVISION,
        _NUMBER,
        _EXCLUSIONS,
        _PAST,
        _PARALLEL,
        _LAYOUT,
        _FORMER,
        _RULES,
        _SINKS,
    }
)
"""Stored among an app's settings: nobody else may give them."""


@dataclass(frozen=True, slots=True)
class StoredDeployment:
    """A row, or an object of JSON."""

    app: str
    text: str
    version: str
    generation: int
    replicas: int
    created_ms: int
    updated_ms: int
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, one: Deployment) -> StoredDeployment:
        """As it is stored."""
        settings = {**one.settings, **_own(one.origin), **_cut(one)}
        if one.sinks != NO_NUMBERS:
            settings[_SINKS] = msgspec.json.encode(one.sinks).decode()
        return cls(
            one.app, one.text, one.version, one.life.number, one.replicas, one.life.deployed_ms,
            one.updated_ms, settings,
        )  # fmt: skip

    @property
    def deployment(self) -> Deployment:
        """What is stored."""
        settings = {key: value for key, value in self.settings.items() if key not in OWN_SETTINGS}
        life = Life(self.created_ms, self.generation)
        origin = _origin(self.settings, self.created_ms)
        former = self.settings.get(_FORMER)
        return Deployment(
            self.app, self.text, self.version, life, self.replicas, self.updated_ms, settings,
            origin,
            parallel=int(self.settings.get(_PARALLEL, "0")),
            layout=int(self.settings.get(_LAYOUT, "0")),
            former=None if former is None else from_json(former, Former),
            rules=int(self.settings.get(_RULES, _FIRST_RULES)),
            sinks=from_json(self.settings.get(_SINKS, "{}"), SinkNumbers),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredRemoved:
    """See contract.Removed."""

    deployment: StoredDeployment
    purged: bool

    @classmethod
    def of(cls, one: Removed) -> StoredRemoved:
        """As it is stored."""
        return cls(StoredDeployment.of(one.deployment), one.purged)

    @property
    def removed(self) -> Removed:
        """What is stored."""
        return Removed(self.deployment.deployment, self.purged)


def _cut(one: Deployment) -> dict[str, str]:
    """Nothing for an app that runs as one unit."""
    cut = {}
    if one.parallel:
        cut[_PARALLEL] = str(one.parallel)
    if one.layout:
        cut[_LAYOUT] = str(one.layout)
    if one.rules != _FIRST_RULES:
        cut[_RULES] = str(one.rules)
    if one.former is not None:
        cut[_FORMER] = msgspec.json.encode(one.former).decode()
    return cut


def _own(origin: Origin) -> dict[str, str]:
    own = {_POSITION: str(origin.position)}
    if origin.logs_since_ms:
        own[_LOGS_SINCE] = str(origin.logs_since_ms)
    if origin.restoration is not None:
        own[_REVISION] = origin.restoration.revision
        own[_NUMBER] = str(origin.restoration.life.number)
    if origin.exclusions:
        own[_EXCLUSIONS] = msgspec.json.encode(origin.exclusions).decode()
    if origin.past is not None:
        own[_PAST] = msgspec.json.encode(origin.past).decode()
    return own


def _origin(settings: Mapping[str, str], deployed_ms: int) -> Origin:
    revision, number = settings.get(_REVISION), settings.get(_NUMBER, "")
    restoration = None
    if revision is not None and number.isdigit():
        restoration = Restoration(revision, Life(deployed_ms, int(number)))
    position, since_ms = settings.get(_POSITION, "0"), settings.get(_LOGS_SINCE, "0")
    excluded = from_json(settings.get(_EXCLUSIONS, "[]"), tuple[Exclusion, ...])
    past = settings.get(_PAST)
    return Origin(
        int(position), int(since_ms), restoration, excluded,
        None if past is None else from_json(past, Past),
    )  # fmt: skip
