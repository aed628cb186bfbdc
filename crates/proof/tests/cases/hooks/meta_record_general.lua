-- Records in general code: tables with computed names, metatables and keys that are no names; fields read by computed names; values that are tables.
-- frames: udp tcp arp
local xdp = require "xdp"
local names = { "class", "port", "flag" }
local defaults = { class = 1, port = 2 }
local hidden = setmetatable({ class = 8 }, { __index = defaults })

local function try(f, ...)
  print(pcall(f, ...))
end

local function assign(pkt, value)
  pkt.meta = value
end

xdp.attach(function(pkt)
  local t = {}
  for i, name in ipairs(names) do t[name] = i < 3 and #pkt * i or #pkt > 60 end
  assign(pkt, t)
  local m = pkt.meta
  for i = 1, #names do print(names[i], m[names[i]], pkt.meta[names[i]]) end
  print(m.class, m.port, m.flag, m["class"])
  t.class = nil
  print(m.class)
  assign(pkt, hidden)
  print(m.class, m.port, m.flag)
  assign(pkt, defaults)
  print(m.class, m.port, m.flag)
  for _, wrong in ipairs { "text", { class = {} }, { class = "text" }, { port = 1.5 }, { 1, 2 }, { [true] = 1 }, { flag = print } } do
    try(assign, pkt, wrong)
  end
  try(function() pkt.meta.class = {} end)
  try(function() m[1] = 2 end)
  try(function() return m[1] end)
  try(function() for k in pairs(m) do print(k) end end)
  try(function() return m + 1 end)
  try(function() return m.class < m.nothing end)
  print(m == pkt.meta, m ~= pkt, type(m), not m)
  m.port = pkt.udp and 5 or false
  print(m.port, rawequal(m.port, false))
  assign(pkt, 12)
  print(pkt.meta, m.class)
  try(function() m.class = 1 end)
  try(function() pkt.meta.class = 1 end)
  assign(pkt, {})
  print(m.class, pkt.meta and true)
end)
