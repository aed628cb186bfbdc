-- Lazy and greedy repetitions that have to give back, and captures around them.
-- frames: udp:User-Agent:\sMozilla/5.0\x0d\x0aHost:\sx\x0d\x0a\x0d\x0a udp:User-Agent:x\x0d\x0a udp:User-Agent:\sno\send udp:User-User-Agent:\scurl\x0d\x0a udp:a.b.c udp:key:val:more udp:\x22quoted\x22\srest\x22 udp:xyxyxz
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:match("User%-Agent:%s(.-)\r\n"), s:match("(.-)%.(.*)$"), s:match("(.*)%.(.-)$"), s:match("([^:]+):([^:]*)"))
  print(s:match('"(.-)"'), s:match('"(.*)"'), s:match("(x.-)(y-)z"), s:match("(x*)(.-)(x+)z"), s:match("^(.-)(%u?)$"))
  print(s:match("\r\n(.-):%s*(.-)\r\n"), s:match("(%a-)%-(%a+):%s*(%S*)"), s:match("%f[%u]%u(%l+)"), s:match("(.+)%1"))
end)
