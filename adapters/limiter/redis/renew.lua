-- Renews the leases of slots. Slots that the server lost are taken again.
--
-- KEYS[1]  sorted set of the slots taken, by the end of their leases
-- ARGV[1]  now, or empty: the server's clock
-- ARGV[2]  length of a lease
-- ARGV[3…] tokens of the slots
-- Instants and lengths are microseconds.

local lease = tonumber(ARGV[2])
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
for i = 3, #ARGV do
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + lease), ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(lease / 1000) + 1))
return #ARGV - 2
