-- frames: tcp udp arp
-- Repetitions within repetitions are an error where they are 200 deep (MAXCCALLS in lstrlib.c): in which frame, the subject decides.
local xdp = require "xdp"
local deep = ("a?"):rep(220)

xdp.attach(function(pkt)
  local subject = ("a"):rep(pkt.payload and 150 + #pkt.payload * 5 or 20)
  print(#subject, subject:find(deep))
end)
