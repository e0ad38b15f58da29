"""The life of any service: load, build, run, drain, stop; health, control messages, supervised
work.
"""

from lockstep.frame.beating import Beating
from lockstep.frame.catalogue import AppView, Catalogue
from lockstep.frame.context import Context, Service, Wire
from lockstep.frame.control import (
    DEPLOYMENTS_CHANGED,
    LOG_SINCE_SETTING,
    RESTORE_GENERATION_SETTING,
    RESTORE_SETTING,
    Command,
    CommandAnswer,
    GroupStatus,
    Heartbeat,
    HeartbeatWatch,
    OnDemandAnswer,
    OnDemandQuestion,
    Redelivered,
    Redelivery,
    SinkStatus,
    command_subject,
    log_of,
    question_subject,
    redelivery_subject,
    since_ms,
    snapshot_subject,
)
from lockstep.frame.health import Readiness
from lockstep.frame.keeper import LeaseKeeper
from lockstep.frame.lifecycle import Process, Running, run_service, run_together
from lockstep.frame.offload import InlineOffload, Offload, ThreadOffload
from lockstep.frame.problems import Problem, malformed_json, problem_response
from lockstep.frame.tasks import Tasks, run_side_by_side
from lockstep.frame.waiting import wait_set
from lockstep.frame.world import World, open_world

__all__ = [
    "DEPLOYMENTS_CHANGED",
    "LOG_SINCE_SETTING",
    "RESTORE_GENERATION_SETTING",
    "RESTORE_SETTING",
    "AppView",
    "Beating",
    "Catalogue",
    "Command",
    "CommandAnswer",
    "Context",
    "GroupStatus",
    "Heartbeat",
    "HeartbeatWatch",
    "InlineOffload",
    "LeaseKeeper",
    "Offload",
    "OnDemandAnswer",
    "OnDemandQuestion",
    "Problem",
    "Process",
    "Readiness",
    "Redelivered",
    "Redelivery",
    "Running",
    "Service",
    "SinkStatus",
    "Tasks",
    "ThreadOffload",
    "Wire",
    "World",
    "command_subject",
    "log_of",
    "malformed_json",
    "open_world",
    "problem_response",
    "question_subject",
    "redelivery_subject",
    "run_service",
    "run_side_by_side",
    "run_together",
    "since_ms",
    "snapshot_subject",
    "wait_set",
]
