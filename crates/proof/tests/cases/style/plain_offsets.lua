-- What `accessors.lua` does, without closures: every read is written out.
-- frames: tls sni:blocked.example sni:also.blocked.example sni:fine.example tls-without-name tcp udp vlan-tls
-- frames: truncated:sni:blocked.example
local xdp = require "xdp"
local action = require "linux.xdp"

local blocked = { ["blocked.example"] = true, ["also.blocked.example"] = true, ["www.example.org"] = true }

xdp.attach(function(pkt, arg)
  local o = arg:getbyte(0) << 8 | arg:getbyte(1)
  if not pkt.tcp or #pkt < o + 44 then return action.PASS end
  if pkt:getbyte(o) ~= 22 or pkt:getbyte(o + 5) ~= 1 then return action.PASS end

  local c = 44 + pkt:getbyte(o + 43)
  local m = c + 2 + (pkt:getbyte(o + c) << 8 | pkt:getbyte(o + c + 1))
  local e = m + 1 + pkt:getbyte(o + m) + 2
  for _ = 1, 17 do
    if #pkt < o + e + 4 then break end
    if (pkt:getbyte(o + e) << 8 | pkt:getbyte(o + e + 1)) == 0 then
      local name = pkt:getstring(o + (e + 9), pkt:getbyte(o + (e + 7)) << 8 | pkt:getbyte(o + (e + 7) + 1))
      if blocked[name] then
        print("blocked", name)
        return action.DROP
      end
      break
    end
    e = e + 4 + (pkt:getbyte(o + e + 2) << 8 | pkt:getbyte(o + e + 3))
  end
  return action.PASS
end)
