"""Leases in Redis; the only place that imports redis."""

from lockstep.leader.redis.leases import RedisLeases

__all__ = ["RedisLeases"]
