"""One default file, one reader of the environment; typed, unknown keys refused.

All mistakes are reported together.
"""

from lockstep.settings.errors import SettingsError
from lockstep.settings.load import environment_name, load_settings
from lockstep.settings.models import (
    ConsoleSettings,
    CoordinatorSettings,
    LeaderSettings,
    LimitsSettings,
    PresenterSettings,
    ProcessorSettings,
    PublisherSettings,
    ReceiverSettings,
    ServerSettings,
    Settings,
)

__all__ = [
    "ConsoleSettings",
    "CoordinatorSettings",
    "LeaderSettings",
    "LimitsSettings",
    "PresenterSettings",
    "ProcessorSettings",
    "PublisherSettings",
    "ReceiverSettings",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "environment_name",
    "load_settings",
]
