"""One default file, one reader of the environment; typed, unknown keys refused.

All mistakes are reported together.
"""

from lockstep.settings.errors import Mistake, SettingsError
from lockstep.settings.load import environment_name, load_settings
from lockstep.settings.models import (
    BusSettings,
    CoordinatorSettings,
    LeaderSettings,
    PresenterSettings,
    ProcessorSettings,
    PublisherSettings,
    ReceiverSettings,
    ServerSettings,
    Settings,
    SparkSettings,
    StoreSettings,
    TelemetrySettings,
)

__all__ = [
    "BusSettings",
    "CoordinatorSettings",
    "LeaderSettings",
    "Mistake",
    "PresenterSettings",
    "ProcessorSettings",
    "PublisherSettings",
    "ReceiverSettings",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "SparkSettings",
    "StoreSettings",
    "TelemetrySettings",
    "environment_name",
    "load_settings",
]
