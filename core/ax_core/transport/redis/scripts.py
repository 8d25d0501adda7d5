"""What Redis does in one step on its side, as Lua: each text with its promise; none runs longer than its arguments."""

from __future__ import annotations

from hashlib import sha1


class Script(str):
    """A Lua text, with the name under which a server knows it."""

    __slots__ = ("sha",)
    sha: str

    def __new__(cls, text: str) -> Script:
        script = super().__new__(cls, text)
        script.sha = sha1(text.encode(), usedforsecurity=False).hexdigest()
        return script


TAKE = Script("""
-- {entries, problem}: at most ARGV[3] new entries of KEYS, the first stream first, as {stream, id, fields}; and what
-- was wrong with a stream. Others are read all the same, and what was taken must not be lost with an error.
local taken, left, problem = {}, tonumber(ARGV[3]), false
for _, stream in ipairs(KEYS) do
  local got = redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', left, 'STREAMS', stream, '>')
  if got and got.err then
    if not problem or string.find(got.err, 'NOGROUP') then problem = got.err end -- that one can be mended
  elseif got then
    for _, entry in ipairs(got[1][2]) do
      taken[#taken + 1] = {stream, entry[1], entry[2]}
      left = left - 1
    end
  end
  if left <= 0 then break end
end
return {taken, problem}
""")

# Whether entry ARGV[at] of KEYS[i] is still with consumer ARGV[2]; a lost group is nobody's.
_MINE = """
local function mine(i, at)
  local held = redis.pcall('XPENDING', KEYS[i], ARGV[1], ARGV[at], ARGV[at], 1, ARGV[2])
  return not held.err and #held > 0
end
"""

DONE = Script(
    _MINE
    + """
-- Remove the ARGV[3] entries that are still ours, KEYS[i] ARGV[5 + i]; then tell clients, the other KEYS and ARGV.
local n = tonumber(ARGV[3])
for i = 1, n do
  if mine(i, 5 + i) then
    redis.call('XACK', KEYS[i], ARGV[1], ARGV[5 + i])
    redis.call('XDEL', KEYS[i], ARGV[5 + i])
  end
end
for i = n + 1, #KEYS do
  redis.call('XADD', KEYS[i], 'MAXLEN', '~', ARGV[4], '*', 't', ARGV[5 + i])
  redis.call('PEXPIRE', KEYS[i], ARGV[5])
end
return n
"""
)

GIVE_BACK = Script(
    _MINE
    + """
-- Put entries that are still ours at the end of their streams, for anybody: KEYS[i] ARGV[2 + i].
for i = 1, #KEYS do
  if mine(i, 2 + i) then
    local entry = redis.call('XRANGE', KEYS[i], ARGV[2 + i], ARGV[2 + i])[1]
    if entry then redis.call('XADD', KEYS[i], '*', unpack(entry[2])) end
    redis.call('XACK', KEYS[i], ARGV[1], ARGV[2 + i])
    redis.call('XDEL', KEYS[i], ARGV[2 + i])
  end
end
return #KEYS
"""
)

KEEP = Script(
    _MINE
    + """
-- Start the idle time anew of entries that are still ours: KEYS[i] ARGV[2 + i].
for i = 1, #KEYS do
  if mine(i, 2 + i) then redis.call('XCLAIM', KEYS[i], ARGV[1], ARGV[2], 0, ARGV[2 + i], 'JUSTID') end
end
return #KEYS
"""
)

RECLAIM = Script("""
-- At most ARGV[4] entries of KEYS that were idle for ARGV[3] ms, as {stream, id, fields, times}.
local taken, left = {}, tonumber(ARGV[4])
for _, stream in ipairs(KEYS) do
  if left <= 0 then break end
  local late = redis.pcall('XPENDING', stream, ARGV[1], 'IDLE', ARGV[3], '-', '+', left)
  if not late.err then
    for _, held in ipairs(late) do
      local got = redis.call('XCLAIM', stream, ARGV[1], ARGV[2], ARGV[3], held[1])
      if got[1] then
        taken[#taken + 1] = {stream, held[1], got[1][2], held[4] + 1}
        left = left - 1
      else
        redis.call('XACK', stream, ARGV[1], held[1]) -- trimmed away: only its place in the list is left
      end
    end
  end
end
return taken
""")

PRUNE = Script("""
-- Forget consumers of KEYS that hold nothing and were idle for ARGV[2] ms; only ARGV[3], if it is not empty.
for _, stream in ipairs(KEYS) do
  local all = redis.pcall('XINFO', 'CONSUMERS', stream, ARGV[1])
  if not all.err then
    for _, flat in ipairs(all) do
      local it = {}
      for j = 1, #flat, 2 do it[flat[j]] = flat[j + 1] end
      if it.pending == 0 and it.idle >= tonumber(ARGV[2]) and (ARGV[3] == '' or ARGV[3] == it.name) then
        redis.call('XGROUP', 'DELCONSUMER', stream, ARGV[1], it.name)
      end
    end
  end
end
return #KEYS
""")

HOLD = Script("""
-- SET KEYS[1] NX PX with token ARGV[1] for ARGV[2] ms, or renew it; else the token that is there.
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
""")

LET_GO = Script("""
-- Remove KEYS[1] if it has the token ARGV[1].
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
""")

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function hold(key, millis, holder)
  redis.call('ZADD', key, now + millis, holder)
  if redis.call('PTTL', key) < tonumber(millis) then redis.call('PEXPIRE', key, millis) end
end
"""

TAKE_PLACE = Script(
    _NOW
    + """
-- 1 if ARGV[2] has one of the ARGV[1] places of KEYS[1], for ARGV[3] ms from now; else 0.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[2]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
hold(KEYS[1], ARGV[3], ARGV[2])
return 1
"""
)

KEEP_PLACES = Script(
    _NOW
    + """
-- ARGV[1 + i] has its place of KEYS[i] for ARGV[1] ms from now: also where it had lapsed or was lost, for it runs.
for i = 1, #KEYS do hold(KEYS[i], ARGV[1], ARGV[1 + i]) end
return #KEYS
"""
)
