-- Targets that are tables: CPUs, groups of interfaces and sockets, in the code, of load time, made by other functions; what is none; hooks that have none.
-- frames: udp tcp arp udp6 icmp arp/15 tcp/60 tls
local xdp, tc, match, xsk = require "xdp", require "tc", require "match", require "xsk"

local groups = { lan = { "eth1", "eth2" }, guests = { "wlan0", 7 } }
local fixed = { cpu = 1, queue = 512 }
local length = 64

xsk.receive(3, function() end)
xsk.receive(0, function() end)

local function try(f, ...)
  print(pcall(f, ...))
end

local function to(group)
  return { group = group }
end

for _, hook in ipairs { xdp.attach, tc.ingress, tc.egress, match.attach } do
  hook(function(pkt)
    try(function() return redirect { cpu = #pkt % 4 } end)
    try(function() return redirect { cpu = 0, queue = length } end)
    try(function() return redirect(fixed) end)
    try(function() return redirect { group = { "eth1", "eth2", 3 } } end)
    try(function() return redirect { group = pkt.udp and groups.lan or groups.guests } end)
    try(function() return redirect(to(groups.lan)) end)
    try(redirect, { group = groups.guests })
    try(function() redirect {} end)
    try(function() redirect { cpu = 1, group = groups.lan } end)
    try(function() redirect { group = groups.lan, queue = 4 } end)
    try(function() redirect { cpu = 1, to = 2 } end)
    try(function() redirect { 1, cpu = 1 } end)
    try(function() redirect { cpu = #pkt - 1000 } end)
    try(function() redirect { cpu = 1 << 16 } end)
    try(function() redirect { cpu = "1" } end)
    try(function() redirect { cpu = 1, queue = 0 } end)
    try(function() redirect { cpu = 1, queue = 16385 } end)
    try(function() redirect { cpu = 1, queue = "4" } end)
    try(function() redirect { group = {} } end)
    try(function() redirect { group = { 0 } } end)
    try(function() redirect { group = { "eth0", true } } end)
    try(function() redirect { group = "eth0" } end)
    try(function() return redirect { socket = 0 } end)
    try(function() return redirect { socket = pkt.queue or 0 } end)
    try(function() redirect { socket = 3 } end)
    try(function() redirect { socket = #pkt % 4 } end)
    try(function() redirect { socket = -#pkt } end)
    try(function() redirect { socket = 1 << 16 } end)
    try(function() redirect { socket = "0" } end)
    try(function() redirect { socket = true } end)
    try(function() redirect { socket = 0, queue = 3 } end)
    try(function() redirect { socket = 0, cpu = 3 } end)
    if pkt.eth and pkt.mark == nil and pkt.udp then return redirect { cpu = 0 } end
  end)
end
