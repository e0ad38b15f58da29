"""The control plane: which apps are deployed, who lives, and what services ask of each other."""

from lockstep.control.catalogue import AppView, Catalogue
from lockstep.control.heartbeats import Beating, HeartbeatWatch, send_heartbeat
from lockstep.control.messages import (
    DEPLOYMENTS_CHANGED,
    Command,
    CommandAnswer,
    GroupStatus,
    Heartbeat,
    OnDemandAnswer,
    OnDemandQuestion,
    Redelivered,
    Redelivery,
    SinkStatus,
    command_subject,
    log_of,
    question_subject,
    redelivery_subject,
    snapshot_subject,
)

__all__ = [
    "DEPLOYMENTS_CHANGED",
    "AppView",
    "Beating",
    "Catalogue",
    "Command",
    "CommandAnswer",
    "GroupStatus",
    "Heartbeat",
    "HeartbeatWatch",
    "OnDemandAnswer",
    "OnDemandQuestion",
    "Redelivered",
    "Redelivery",
    "SinkStatus",
    "command_subject",
    "log_of",
    "question_subject",
    "redelivery_subject",
    "send_heartbeat",
    "snapshot_subject",
]
