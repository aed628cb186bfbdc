-- Limits how fast one source may open TCP connections: 20 a second on average, 50 at once. What is too much is dropped.
--
-- Each source has a token bucket. It is kept as credit in nanoseconds, so that no division is needed: the credit grows as time
-- goes by, and a connection costs a twentieth of a second of it. A million sources are remembered; beyond that the one not
-- seen for longest gives way, so that memory stays bounded however many addresses an attacker makes up.
local xdp = require "xdp"
local action = require "linux.xdp"
local linux = require "linux"

local ack <const> = 0x10
local rate <const> = 20
local burst <const> = 50
local second <const> = 1000000000
local cost <const> = second // rate
local full <const> = burst * cost

local sources = map {
  key = "ip",
  value = { credit = "int", seen = "int" },
  capacity = 1000000,
  evict = "lru",
}
local dropped = 0

xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp or not tcp.syn or tcp.flags & ack ~= 0 then
    return action.PASS
  end
  local now = linux.time()
  local address = pkt.ip.src
  local source = sources[address]
  if not source then
    sources[address] = { credit = full - cost, seen = now }
    return action.PASS
  end
  local credit = math.min(full, source.credit + linux.difftime(now, source.seen))
  source.seen = now
  if credit < cost then
    source.credit = credit
    dropped = dropped + 1
    return action.DROP
  end
  source.credit = credit - cost
  return action.PASS
end)
