-- A row of a table whose offset is a constant on each of several ways, behind a loop: it is masked anew.
-- frames: hex:65aaac2e4e9e6c8104504e55ea985581ee122e54ec3ea2688c8d51fccb8bae0431ac24d0e3872d16011a7727eaf8f700648cfba1e0a1efc655db5102d5b4efc7cd3919d82e429916ebc2dd7b8f91741b59cf109a9de8cae954bb53db80a0230212d82cbd7d1a2cc86bf9d3e6d5855d992b5bc9712b4355d1851878707e8b6350de14c37a984b3e338a6b74656088da1e9b4b47ae91
local xdp = require "xdp"
local function apply(f, ...)
  return f(...)
end
local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }
local hits6 = {}
local function f15(pkt, p16, p17, p18)
  local v19 = (pkt.tcp and pkt.tcp.dport or 0)
  return 0
end
xdp.attach(function(pkt)
  local g49 = print
  print(g49(apply(function(x52, x53)
    return (t[((pkt.tcp ~= nil) and 1 or (-8)) & 15] or 0)
  end, 0, 0)), v45)
  u2, u1 = 0, (pkt.udp and pkt.udp.sport or 0)
end)
