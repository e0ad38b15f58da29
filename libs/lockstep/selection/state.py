"""The state of a selector in the reference's form, instance by instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.columns.frame import Frame
from lockstep.columns.realms import Realms
from lockstep.selection.columns import SelectorOperator


def _no_rows(group: int) -> Frame | None:
    return None


class SelectorState:
    """Converts the aggregates of a query; see selection.meaning for the form."""

    def __init__(self, query: str, realms: Realms, selector: SelectorOperator) -> None:
        self._query = query
        self._realms = realms
        self._groups = selector.groups
        self._aggregates = selector.aggregates
        self._of_realm: dict[int, list[tuple[int, Any, list[Any]]]] = {}
        self._alone: list[list[Any]] = []
        self._room = 0

    def prepare(self) -> None:
        """Before `stored`: makes room for instances that nothing was fed to."""
        self._groups.realms = max(self._groups.realms, len(self._realms.keys))
        self.reserve()
        self._of_realm, self._alone = {}, []
        if not len(self._aggregates):
            return
        if not self._groups.is_grouped:
            self._alone = self._aggregates.store(np.arange(self._groups.realms))
            return
        live = np.flatnonzero(self._aggregates.live(len(self._groups)))
        for group, states in zip(live.tolist(), self._aggregates.store(live), strict=True):
            realm, key = self._groups.named(group)
            self._of_realm.setdefault(realm, []).append((group, key, states))

    def reserve(self) -> None:
        """Makes room for all groups."""
        self._aggregates.reserve(max(len(self._groups), 1), self._groups.realms, 0)

    def _reserve_more(self) -> None:
        """Makes room while groups are loaded, for more than there are."""
        count = max(len(self._groups), self._groups.realms)
        if count > self._room:
            self._room = 2 * count
            self._aggregates.reserve(self._room, self._room, 0)

    def stored(self, realm: int, rows: Callable[[int], Frame | None] = _no_rows) -> Any:
        """The state of an instance; `rows` gives the held rows of a group."""
        aggregates, groups = self._aggregates, self._groups
        fresh = self._realms.fresh(self._query, "selector")
        if not len(aggregates):
            return fresh
        if not groups.is_grouped:
            return (aggregates.of_rows(self._alone[realm], rows(realm)), [])
        stored = [
            (key, aggregates.of_rows(states, rows(group)))
            for group, key, states in self._of_realm.get(realm, ())
        ]
        return (fresh[0], stored)

    def load(self, realm: int, state: Any) -> None:
        """Takes over what `stored` gave; `reserve` has to follow when all are loaded."""
        aggregates, groups = self._aggregates, self._groups
        groups.realms = max(groups.realms, realm + 1)
        if not len(aggregates):
            return
        alone, by_key = state
        if not groups.is_grouped:
            self._reserve_more()
            aggregates.load(np.array([realm]), realm, [alone])
            return
        ids = [groups.id_of(realm, key) for key, _ in by_key]
        self._reserve_more()
        if ids:
            aggregates.load(np.array(ids), realm, [saved for _, saved in by_key])
