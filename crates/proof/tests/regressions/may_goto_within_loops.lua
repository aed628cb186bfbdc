-- A may_goto within a loop, whose own loop has one turn: the bounds of the header's offset are forgotten there.
-- frames: hex:1eec1bb6611ca410e002e96c86dd6154a751fad846c9a6bc544726cff2fc254afc
local xdp = require "xdp"
local u1 = (math.maxinteger)
local function make2(by)
  return function(x)
  end, function(x)
  end
end
local g3, g4 = make2((0))
local rules5 = { [6] = function(pkt, x6)
end, [17] = function(pkt, x7)
end, [1] = function(pkt, x8)
end }
local function f9(p10, p11, p12, p13)
  local c14 = 0
  repeat
  until c14 >= 7 or (tonumber(tostring((-11))) <= 8)
  return (p12 + (17 * p11)), (p12 & (27 & p11)), ((~ p12) & (u1 + p12))
end
xdp.attach(function(pkt)
  local c20 = 0
  repeat
    local g22 = rules5[(pkt.tcp and "tcp" or "udp")]
    local fs23 = { a = function(x24, x25)
      pkt:setbyte(4, (pkt.udp and pkt.udp.sport or 14))
    end, b = function(x26, x27)
      u1 = u1 + (0 | x27)
    end, c = function(x28, x29)
    end }
    print(fs23[("abc"):sub(1 + (u1 & 2), 1 + f9(u1, u1, (-8), function(x30)
    end))]((- (math.maxinteger)), g3(c20)), fs23.b((0x80000000), c20))
    c20 = c20 + 1
  until c20 >= 4 or (pkt.vlan ~= nil)
end)
