-- Keeps a flood away from what is behind: prefixes that are blocked, by the million; UDP services that reflect; and of every source what is
-- more than its share. What was dropped is counted by why, and by prefix.
-- `moonhook table ddos blocked load prefixes.csv` gives the list; what it has is looked at from one packet to the next.
local xdp = require "xdp"
local action = require "linux.xdp"
local linux = require "linux"

local RATE <const>, BURST <const> = 1000, 2000 -- Packets a second of one source, and at once.
local SECOND <const> = 1000000000
local COST <const> = SECOND // RATE
local FULL <const> = BURST * COST

local blocked = map { key = "ipv4", value = { hits = "int" }, capacity = 1000000, lpm = true }
local blocked6 = map { key = "ipv6", value = { hits = "int" }, capacity = 100000, lpm = true }
-- Ports that answers of reflectors come from: chargen, NTP, SSDP, memcached and the like.
local reflectors = {}
for _, port in ipairs { 17, 19, 111, 123, 137, 161, 389, 1900, 5353, 11211 } do
  reflectors[port] = true
end
local sources = map { key = "ip", value = { credit = "int", seen = "int" }, capacity = 1000000, evict = "lru" }
dropped = { blocked = 0, reflected = 0, ["too many"] = 0 }

local function is_in(prefixes, address)
  local prefix = prefixes[address]
  if not prefix then
    return false
  end
  prefix.hits = prefix.hits + 1
  return true
end

local function drop(why)
  dropped[why] = dropped[why] + 1
  return action.DROP
end

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then
    return
  end
  local address = ip.src
  if ip.version == 4 and is_in(blocked, address) or ip.version == 6 and is_in(blocked6, address) then
    return drop("blocked")
  end
  local udp = pkt.udp
  if udp and reflectors[udp.sport] then
    return drop("reflected")
  end
  local now = linux.monotonic()
  local source = sources[address]
  if not source then
    sources[address] = { credit = FULL - COST, seen = now }
    return
  end
  local credit = math.min(FULL, source.credit + linux.difftime(now, source.seen))
  source.seen = now
  if credit < COST then
    source.credit = credit
    return drop("too many")
  end
  source.credit = credit - COST
end)
