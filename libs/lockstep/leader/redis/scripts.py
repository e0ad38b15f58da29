"""What Redis does in one step: compare, then set, prolong, hand over or delete.

A key's value is `holder newline token`; without a token it is reserved for the holder.
A process that lives is subscribed to a channel of its own.
"""

from __future__ import annotations

from typing import Final

# Taken when free, reserved for us, ours already (our first request came through, its answer did
# not), or held by ARGV[4], to whose channel ARGV[5] nobody is subscribed.
# Answers 1, or who else holds it.
ACQUIRE: Final = """
local held = redis.call('GET', KEYS[1])
if held == false or held == ARGV[1] or held == ARGV[2]
    or (held == ARGV[4] and redis.call('PUBSUB', 'NUMSUB', ARGV[5])[2] == 0) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
  return 1
end
return held
"""

# Answers which keys are not ours any more, counted from 1: hardly ever any. The time to live comes
# first, then `again` if what nobody has is to be taken again, then the values.
RENEW: Final = """
local lost = {}
for i, key in ipairs(KEYS) do
  local held = redis.call('GET', key)
  if held == ARGV[2 + i] or (held == false and ARGV[2] == 'again') then
    redis.call('SET', key, ARGV[2 + i], 'PX', ARGV[1])
  else
    lost[#lost + 1] = i
  end
end
return lost
"""

RELEASE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
"""

# Repeated after a lost answer it finds the reservation made.
HAND_OVER: Final = """
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
  return 1
end
if held == ARGV[2] then
  return 1
end
return 0
"""
