-- Fields that hold tables in one place, and packets, headers, strings or tables of the library in another, indexed by names made at
-- packet time.
-- frames: udp tcp
local xdp = require "xdp"
local function get(holder, key) return holder.inner[key] end
local function from(holder, key) return holder.by_key[key] end
local function index(holder, key) return holder.found[key] end
local found = setmetatable({}, { __index = function(_, name) return name == "found" and "text" or nil end })
xdp.attach(function(pkt)
  local u = #pkt > 0 and "u" or "x"
  print(get({ inner = {} }, u .. "dp"), get({ inner = pkt }, u .. "dp") ~= nil, get({ inner = "ab" }, u .. "pper") ~= nil)
  local ip = pkt.ip
  if ip then print(get({ inner = ip }, "t" .. "tl")) end
  local holder, key = {}, "by" .. "_key"
  print(pcall(from, holder, u .. "dp"))
  holder[key] = pkt
  print(from(holder, u .. "dp") ~= nil, from({ by_key = { udp = 1 } }, u .. "dp"))
  print(index(found, u .. "pper") ~= nil, index({ found = {} }, u .. "pper"))
end)
