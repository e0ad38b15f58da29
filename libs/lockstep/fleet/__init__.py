"""Units of an app that is cut into groups and partitions: what each folds at a position of the
input log, how their states join and split, and all of them in one process (see DESIGN.md)."""

from lockstep.fleet.local import FleetExecutor
from lockstep.fleet.units import Unit, check_units, units_of

__all__ = ["FleetExecutor", "Unit", "check_units", "units_of"]
