-- Drops the datagrams of one flow, known by the hash of its name: "protocol source:port>destination:port".
local xdp = require "xdp"
local action = require "linux.xdp"

local function hash(text)
  local sum = 5381
  for i = 1, #text do
    sum = (sum * 33 + text:byte(i)) % 4294967296
  end
  return sum
end

local unwanted = "udp 192.0.2.10:40000>198.51.100.7:5060"
local unwanted_hash = hash(unwanted)

local function address(pkt, at)
  return string.format("%d.%d.%d.%d", pkt:getuint8(at), pkt:getuint8(at + 1), pkt:getuint8(at + 2), pkt:getuint8(at + 3))
end

local function port(pkt, at)
  return pkt:getuint8(at) * 256 + pkt:getuint8(at + 1)
end

xdp.attach(function(pkt)
  local from = address(pkt, 26) .. ":" .. port(pkt, 34)
  local to = address(pkt, 30) .. ":" .. port(pkt, 36)
  local name = string.format("%s %s>%s", pkt:getuint8(23) == 17 and "udp" or "tcp", from, to)
  return hash(name) == unwanted_hash and name == unwanted and action.DROP or action.PASS
end)
