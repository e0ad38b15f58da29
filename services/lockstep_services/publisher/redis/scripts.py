"""What Redis does in one step: it looks at the cursor, then writes rows and moves it, or does
nothing. A script that broke off would have written some rows and not moved the cursor: each row is
written whole, so it can come again."""

from __future__ import annotations

from typing import Final

# Answers the epoch with which the cursor is taken over, and where it is: as a text, as numbers in
# Lua are exact up to 2^53 only, and cursors of scheduled scripts are greater.
TAKE_OVER: Final = """
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
return {epoch, redis.call('HGET', KEYS[1], 'sequence') or '0'}
"""

# The epoch, where the cursor should be, where it goes; then for each row its key, how many names
# and values follow, and these. A row without any is gone. Answers 1, or 0 for another's cursor.
TRANSACT: Final = """
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local sequence = redis.call('HGET', KEYS[1], 'sequence') or '0'
if epoch ~= ARGV[1] or sequence ~= ARGV[2] then
  return 0
end
local at = 4
while at <= #ARGV do
  local key, fields = ARGV[at], tonumber(ARGV[at + 1])
  redis.call('DEL', key)
  if fields > 0 then
    redis.call('HSET', key, unpack(ARGV, at + 2, at + 1 + fields))
  end
  at = at + 2 + fields
end
redis.call('HSET', KEYS[1], 'sequence', ARGV[3])
return 1
"""
