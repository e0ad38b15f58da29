"""The state of a selector in the reference's form, instance by instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.execute.columnar.frame import Frame
from lockstep.execute.columnar.realms import Realms
from lockstep.execute.columnar.selector import SelectorOperator


def _no_rows(group: int) -> Frame | None:
    return None


class SelectorState:
    """Converts the aggregates of a query; see operators.runtime.selector for the form."""

    def __init__(self, query: str, realms: Realms, selector: SelectorOperator) -> None:
        self._query = query
        self._realms = realms
        self._groups = selector.groups
        self._aggregates = selector.aggregates
        self._of_realm: dict[int, list[tuple[int, Any]]] = {}

    def prepare(self) -> None:
        """Before `stored`: makes room for instances that nothing was fed to."""
        self._groups.realms = max(self._groups.realms, len(self._realms.keys))
        self.reserve()
        self._of_realm = {}
        if len(self._aggregates) and self._groups.is_grouped:
            live = self._aggregates.live(len(self._groups))
            for group in np.flatnonzero(live).tolist():
                realm, key = self._groups.named(group)
                self._of_realm.setdefault(realm, []).append((group, key))

    def reserve(self) -> None:
        """Makes room for all groups."""
        self._aggregates.reserve(max(len(self._groups), 1), self._groups.realms, 0)

    def stored(self, realm: int, rows: Callable[[int], Frame | None] = _no_rows) -> Any:
        """The state of an instance; `rows` gives the held rows of a group."""
        aggregates, groups = self._aggregates, self._groups
        fresh = self._realms.fresh(self._query, "selector")
        if not len(aggregates):
            return fresh
        if not groups.is_grouped:
            return (aggregates.store(realm, rows(realm)), [])
        stored = [
            (key, aggregates.store(group, rows(group)))
            for group, key in self._of_realm.get(realm, ())
        ]
        return (fresh[0], stored)

    def load(self, realm: int, state: Any) -> None:
        """Takes over what `stored` gave."""
        aggregates, groups = self._aggregates, self._groups
        groups.realms = max(groups.realms, realm + 1)
        if not len(aggregates):
            return
        alone, by_key = state
        if not groups.is_grouped:
            aggregates.reserve(groups.realms, groups.realms, 0)
            aggregates.load(realm, realm, alone)
            return
        for key, saved in by_key:
            group = groups.id_of(realm, key)
            aggregates.reserve(len(groups), groups.realms, 0)
            aggregates.load(group, realm, saved)
