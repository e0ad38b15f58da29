"""Loops over events that no array operation can say, compiled by Numba and cached on disk.

Kernels take writeable, contiguous arrays of exact types (`plain` makes them so), so that each is
compiled once.
"""

from lockstep.execute.columnar.kernels.compiled import kernel, plain

__all__ = ["kernel", "plain"]
