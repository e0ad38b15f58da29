"""The checker: from a syntax tree to a CheckedApp in which nothing can be invalid any more."""

from lockstep.siddhiql.checking.app import check, check_deployed
from lockstep.siddhiql.checking.on_demand import check_on_demand

__all__ = ["check", "check_deployed", "check_on_demand"]
