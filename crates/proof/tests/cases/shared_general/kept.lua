-- Tables that forget: entries that live as long as the packets here come, and tables that drop what is old.
-- frames: tcp udp tcp udp tcp
local xdp = require "xdp"
local timed = map { key = "int", value = "int", ttl = 1000 }
local named = map { key = "string:8", value = "string:8", ttl = 1000 }
local recent = map { key = "int", value = "int", evict = "lru", capacity = 1000 }
xdp.attach(function(pkt)
  pcall(type, pkt)
  for word in ("one two one three"):gmatch("%a+") do
    timed[#word] = (timed[#word] or 0) + 1
    recent[#word] = (recent[#word] or 0) + #pkt
    if named[word] then named[word] = named[word]:sub(2) else named[word] = word end
    if named[word] == "" then named[word] = nil end
    print(timed[#word], recent[#word], named[word])
  end
end)
