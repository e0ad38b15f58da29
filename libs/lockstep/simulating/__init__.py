"""Feeds for a running app: what is sent, how fast, and how far it came (see DESIGN.md)."""

from lockstep.simulating.errors import SimulationError
from lockstep.simulating.feeds import Aside, Fetch, Found, at_once, feed_of
from lockstep.simulating.pacing import Even, Stopwatch, Timed
from lockstep.simulating.rules import drawn, example, rule_of
from lockstep.simulating.running import Figures, Pacing, Phase, Send, Sent, Simulation
from lockstep.simulating.setups import Bounds, DatabaseRows, FeedSetup, Setup, read_setup
from lockstep.simulating.values import Columns, csv_rows, csv_table, row_of

__all__ = [
    "Aside",
    "Bounds",
    "Columns",
    "DatabaseRows",
    "Even",
    "FeedSetup",
    "Fetch",
    "Figures",
    "Found",
    "Pacing",
    "Phase",
    "Send",
    "Sent",
    "Setup",
    "Simulation",
    "SimulationError",
    "Stopwatch",
    "Timed",
    "at_once",
    "csv_rows",
    "csv_table",
    "drawn",
    "example",
    "feed_of",
    "read_setup",
    "row_of",
    "rule_of",
]
