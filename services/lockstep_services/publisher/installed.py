"""Types of sinks that other packages brought along (entry points of `lockstep.extensions`)."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension
from lockstep.siddhiql.catalogue.installed import InstalledError, modules
from lockstep.siddhiql.checking.connectors import find_type
from lockstep.sinks import SinkMaker


def installed_sinks() -> Mapping[str, SinkMaker]:
    """Makers by type; InstalledError for a type that is there already or that nobody declares."""
    found: dict[str, SinkMaker] = {}
    for module in modules():
        for name, maker in getattr(module, "SINKS", {}).items():
            declared = find_type(ExtensionKind.SINK, name)
            if isinstance(declared, ConnectorExtension) or name in found:
                raise InstalledError(f"{module.__name__}: there is a sink '{name}' already")
            if declared is None or declared.name != name:
                raise InstalledError(f"{module.__name__}: EXTENSIONS declares no sink '{name}'")
            found[name] = maker
    return found
