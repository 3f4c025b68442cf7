-- Counts one request of a subject in its sliding window and, where there is a second
-- key, takes one of its slots. 'peek' counts nothing.
--
-- KEYS[1]  list of the instants of the grants, the oldest first
-- KEYS[2]  sorted set of the slots taken, by the end of their leases
-- ARGV[1]  now, or empty: the server's clock
-- ARGV[2]  length of the window
-- ARGV[3]  limit
-- ARGV[4]  number of slots, or 'peek'
-- ARGV[5]  length of a lease
-- ARGV[6]  token of the slot
-- ARGV[7…] tokens of slots to release first
-- Instants and lengths are microseconds.
--
-- Returns granted (0, 1), inside (0, 1), remaining, reset (instant), retry after.

local window, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- tostring would write 16 digits as 1.7e+15.
local function text(n) return string.format('%.0f', n) end

local function grant(i) return tonumber(redis.call('LINDEX', KEYS[1], i)) end

-- Keys outlive what they hold by less than two milliseconds.
local function expire(key, length) redis.call('PEXPIRE', key, text(math.ceil(length / 1000) + 1)) end

local function take()
  local count = redis.call('LLEN', KEYS[1])
  local last = count > 0 and grant(-1) or now
  if last - now > window then
    -- The clock was set back by more than the window, as after a fail-over. The grants
    -- move back with it: they would refuse everything until the clock is there again.
    local grants = redis.call('LRANGE', KEYS[1], 0, -1)
    redis.call('DEL', KEYS[1])
    for _, at in ipairs(grants) do
      redis.call('RPUSH', KEYS[1], text(tonumber(at) - (last - now)))
    end
    last = now
  end
  if count > 0 and last + window <= now then
    redis.call('DEL', KEYS[1])
    count = 0
  end
  while count > 0 and grant(0) + window <= now do
    redis.call('LPOP', KEYS[1])
    count = count - 1
  end
  local over = count - limit
  if over >= 0 or ARGV[4] == 'peek' then
    -- After a limit was lowered there can be more grants than the limit.
    return 0, 0, last + window, over >= 0 and grant(over) + window - now or 0
  end
  -- The grants stay in order when the clock is set back a little.
  local at = math.max(now, last)
  redis.call('RPUSH', KEYS[1], text(at))
  expire(KEYS[1], at + window - now)
  local remaining = limit - count - 1
  return 1, remaining, at + window, remaining == 0 and grant(0) + window - now or 0
end

local function enter()
  local slots, lease = tonumber(ARGV[4]), tonumber(ARGV[5])
  if redis.call('ZCARD', KEYS[2]) >= slots then
    -- Drop the slots whose holders died.
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', text(now))
    if redis.call('ZCARD', KEYS[2]) >= slots then return 0 end
  end
  redis.call('ZADD', KEYS[2], text(now + lease), ARGV[6])
  expire(KEYS[2], lease)
  return 1
end

if #ARGV > 6 then redis.call('ZREM', KEYS[2], unpack(ARGV, 7)) end
local granted, remaining, reset, retry = take()
local inside = 0
if granted == 1 and KEYS[2] then inside = enter() end
return {granted, inside, remaining, reset, retry}
