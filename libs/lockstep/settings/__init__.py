"""One default file, one reader of the environment; typed, unknown keys refused.

All mistakes are reported together.
"""

from lockstep.settings.errors import SettingsError
from lockstep.settings.load import environment_name, load_settings
from lockstep.settings.models import (
    ArchiveSettings,
    BatchSettings,
    BusSettings,
    ConsoleSettings,
    CoordinatorSettings,
    LeaderSettings,
    LimitsSettings,
    OidcSettings,
    PresenterSettings,
    ProcessorSettings,
    PublisherSettings,
    ReceiverSettings,
    RightsSettings,
    ServerSettings,
    Settings,
)

__all__ = [
    "ArchiveSettings",
    "BatchSettings",
    "BusSettings",
    "ConsoleSettings",
    "CoordinatorSettings",
    "LeaderSettings",
    "LimitsSettings",
    "OidcSettings",
    "PresenterSettings",
    "ProcessorSettings",
    "PublisherSettings",
    "ReceiverSettings",
    "RightsSettings",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "environment_name",
    "load_settings",
]
