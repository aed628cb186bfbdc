-- Drops UDP datagrams to one port whose payload is longer than 128 bytes.
local xdp = require "xdp"
local action = require "linux.xdp"

local port <const> = 5060
local longest <const> = 128
local header <const> = 8

xdp.attach(function(pkt)
  local udp = pkt.udp
  if udp and udp.dport == port and udp.length > longest + header then
    return action.DROP
  end
  return action.PASS
end)
