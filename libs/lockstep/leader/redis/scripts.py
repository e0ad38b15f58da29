"""What Redis does in one step: compare, then set, prolong, hand over or delete.

A key's value is `holder newline token`; without a token it is reserved for the holder.
A process that lives is subscribed to a channel of its own.

What may be about a thousand leases at a time gets all of them as one text of JSON: both sides read
it in C, where each argument of its own costs the client more than the lease costs Redis.
"""

from __future__ import annotations

from typing import Final

# Each: key, value, the value where it is reserved for us, time to live, and who is to be replaced
# if nobody is subscribed to the channel that comes last. Taken when free, reserved for us, ours
# already (our first request came through, its answer did not), or held by whom to replace.
# Answers for each who else holds it, and an empty text where it is ours now.
ACQUIRE: Final = """
local found = {}
for i, one in ipairs(cjson.decode(ARGV[1])) do
  local held = redis.call('GET', one[1])
  if held == false or held == one[2] or held == one[3]
      or (held == one[5] and redis.call('PUBSUB', 'NUMSUB', one[6])[2] == 0) then
    redis.call('SET', one[1], one[2], 'PX', one[4])
    found[i] = ''
  else
    found[i] = held
  end
end
return cjson.encode(found)
"""

# Answers which of the keys are not ours any more, counted from 1: hardly ever any. The time to live
# comes first, then `again` if what nobody has is to be taken again, then keys and values in turns.
RENEW: Final = """
local lost, given = {}, cjson.decode(ARGV[3])
for i = 1, #given / 2 do
  local key, value = given[2 * i - 1], given[2 * i]
  local held = redis.call('GET', key)
  if held == value or (held == false and ARGV[2] == 'again') then
    redis.call('SET', key, value, 'PX', ARGV[1])
  else
    lost[#lost + 1] = i
  end
end
return lost
"""

# Answers the values of all keys in their order; an empty text where there is none.
HOLDERS: Final = """
local found = {}
for i, key in ipairs(cjson.decode(ARGV[1])) do
  found[i] = redis.call('GET', key) or ''
end
return cjson.encode(found)
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

# Answers whose server this is: who asks, where it is nobody's or the one's that comes last.
OWN: Final = """
local owner = redis.call('GET', KEYS[1])
if owner == false or (owner == ARGV[2] and owner ~= ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1])
  return ARGV[1]
end
return owner
"""
