-- Fields that only hold tables, indexed by strings made at packet time, also by those that are names of fields and methods.
-- frames: udp tcp
local xdp = require "xdp"
local cache = { found = 0 }
cache.__index = cache
local fixed = { nodes = { udp = "of load time" }, more = {} }

local function new()
  return setmetatable({ nodes = {}, others = nil, head = { nodes = {} } }, cache)
end

function cache:get(key)
  local node = self.nodes[key]
  if not node then return nil end
  return node.value
end

function cache:set(key, value)
  local node = { key = key, value = value }
  self.nodes[key] = node
  self.head.nodes[key] = node
end

xdp.attach(function(pkt)
  local c, first = new(), #pkt > 0 and "u" or "x"
  print(c:get(first .. "dp"), c.nodes[first .. "pper"], pcall(function() return c.others[first .. "dp"] end))
  c:set(first .. "dp", 1)
  c:set("r" .. "ep", #pkt)
  print(c:get("u" .. "dp"), c:get(("REP"):lower()), c.head.nodes[first .. "dp"].key, c.nodes["find" .. first])
  c.nodes["rep"] = nil
  print(c:get("r" .. "ep"), fixed.nodes[first .. "dp"], fixed.more[first .. "dp"], fixed.nodes["byt" .. "e"])
  for _, name in ipairs { "tcp", "udp", "getuint8", "len", "floor" } do
    local made = name:sub(1, 1) .. name:sub(2)
    print(made, c:get(made), c.head.nodes[made] ~= nil)
  end
end)
