"""The control plane: which apps are deployed, who lives, and what services ask of each other."""

from lockstep.control.archived import archive_cursor, archived, archived_to
from lockstep.control.catalogue import Catalogue
from lockstep.control.gathering import Gathering, before_position
from lockstep.control.heartbeats import Beating, HeartbeatWatch, send_heartbeat
from lockstep.control.layouts import OWN_LOG, Layout, layouts_of
from lockstep.control.marks import Mark, MarkWatch, send_mark
from lockstep.control.merged import MergedOutputs
from lockstep.control.messages import (
    DEPLOYMENTS_CHANGED,
    Command,
    CommandAnswer,
    Erased,
    Erasure,
    GroupStatus,
    Heartbeat,
    OnDemandAnswer,
    OnDemandQuestion,
    Redelivered,
    Redelivery,
    SinkStatus,
    command_subject,
    erasure_subject,
    log_of,
    presence_subject,
    question_subject,
    redelivery_subject,
    snapshot_subject,
)
from lockstep.control.units import (
    AppView,
    UnitView,
    group_and_layout,
    place_of,
    unit_key,
    unit_label,
    view_of,
)

__all__ = [
    "DEPLOYMENTS_CHANGED",
    "OWN_LOG",
    "AppView",
    "Beating",
    "Catalogue",
    "Command",
    "CommandAnswer",
    "Erased",
    "Erasure",
    "Gathering",
    "GroupStatus",
    "Heartbeat",
    "HeartbeatWatch",
    "Layout",
    "Mark",
    "MarkWatch",
    "MergedOutputs",
    "OnDemandAnswer",
    "OnDemandQuestion",
    "Redelivered",
    "Redelivery",
    "SinkStatus",
    "UnitView",
    "archive_cursor",
    "archived",
    "archived_to",
    "before_position",
    "command_subject",
    "erasure_subject",
    "group_and_layout",
    "layouts_of",
    "log_of",
    "place_of",
    "presence_subject",
    "question_subject",
    "redelivery_subject",
    "send_heartbeat",
    "send_mark",
    "snapshot_subject",
    "unit_key",
    "unit_label",
    "view_of",
]
