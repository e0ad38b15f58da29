"""The life of any service: load, build, run, drain, stop; health and supervised work."""

from lockstep.clock import wait_set
from lockstep.frame.context import Context, Service, Wire
from lockstep.frame.holders import HolderWatch
from lockstep.frame.host_cpu import HostCpu
from lockstep.frame.keeper import LeaseKeeper
from lockstep.frame.lifecycle import Process, Running, run_service, run_together, tail_of
from lockstep.frame.offload import InlineOffload, Offload, SharedThreads, ThreadOffload
from lockstep.frame.problems import Problem
from lockstep.frame.tasks import Tasks, all_of, run_side_by_side, run_until
from lockstep.frame.world import World, open_world

__all__ = [
    "Context",
    "HolderWatch",
    "HostCpu",
    "InlineOffload",
    "LeaseKeeper",
    "Offload",
    "Problem",
    "Process",
    "Running",
    "Service",
    "SharedThreads",
    "Tasks",
    "ThreadOffload",
    "Wire",
    "World",
    "all_of",
    "open_world",
    "run_service",
    "run_side_by_side",
    "run_together",
    "run_until",
    "tail_of",
    "wait_set",
]
