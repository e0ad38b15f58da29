"""SiddhiQL: text to syntax tree, to checked and typed app, and back to text."""

from lockstep.siddhiql.checked import CheckedApp, CheckedOnDemand
from lockstep.siddhiql.checking import check, check_deployed, check_on_demand
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.printing import print_app, print_node
from lockstep.siddhiql.syntax import parse, parse_on_demand
from lockstep.siddhiql.variables import update_variables

__all__ = [
    "CheckedApp",
    "CheckedOnDemand",
    "SiddhiQLError",
    "check",
    "check_deployed",
    "check_on_demand",
    "parse",
    "parse_on_demand",
    "print_app",
    "print_node",
    "update_variables",
]
