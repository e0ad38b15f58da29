"""Run apps in process on a virtual clock: part of the product, users test their apps with it."""

from lockstep.events import Event
from lockstep.testing.virtual_app import QueryOutput, VirtualApp

__all__ = ["Event", "QueryOutput", "VirtualApp"]
