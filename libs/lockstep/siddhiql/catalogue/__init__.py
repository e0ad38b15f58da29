"""The catalogue of extensions by kind, namespace and name; packs register their signatures here."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.aggregators import AggregatorExtension
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.promises import Delivery, Promise
from lockstep.siddhiql.catalogue.windows import WindowExtension


class Catalogue:
    """Extensions by (kind, namespace, name). Names of built-ins are compared as written."""

    def __init__(self) -> None:
        self._entries: dict[tuple[ExtensionKind, str, str], Extension] = {}

    def register(self, *extensions: Extension) -> None:
        """Adds extensions; the same (kind, namespace, name) twice is an error of the packs."""
        for extension in extensions:
            key = (extension.kind, extension.namespace or "", extension.name)
            if key in self._entries:
                raise ValueError(f"extension registered twice: {key}")
            self._entries[key] = extension

    def find(self, kind: ExtensionKind, namespace: str | None, name: str) -> Extension | None:
        """The extension or None."""
        return self._entries.get((kind, namespace or "", name))

    def names(self, kind: ExtensionKind) -> list[str]:
        """All names of a kind as typed in a text (`ns:name`), sorted: for suggestions."""
        return sorted(
            f"{ns}:{name}" if ns else name for (k, ns, name) in self._entries if k is kind
        )

    def of(self, kind: ExtensionKind) -> list[Extension]:
        """All extensions of a kind, in the order in which they were registered."""
        return [each for (of, _, _), each in self._entries.items() if of is kind]

    def windows(self) -> list[WindowExtension]:
        """The windows that declare more than their parameters."""
        return [each for each in self._entries.values() if isinstance(each, WindowExtension)]

    def aggregators(self) -> list[AggregatorExtension]:
        """The aggregators that declare more than their parameters."""
        return [each for each in self._entries.values() if isinstance(each, AggregatorExtension)]


__all__ = [
    "Argument",
    "Catalogue",
    "Delivery",
    "Extension",
    "ExtensionKind",
    "Overload",
    "Parameter",
    "Promise",
    "SignatureError",
    "WindowExtension",
]
