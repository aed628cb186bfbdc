-- Names that are made at packet time and come back out of tables, variables, calls and iterators.
-- frames: udp tcp icmp
local xdp = require "xdp"
local function name(pkt) return pkt.ip.proto == 6 and table.concat { "t", "cp" } or ("xudp"):sub(2) end
local function through(n) local t = { n = n } return t.n end
xdp.attach(function(pkt)
  local n = name(pkt)
  local header = pkt[through(n)]
  print(n, header and header[("sport,"):match("%a+")])
  for word in ("length flags"):gmatch("%a+") do print(word, pcall(function() return header[word] end)) end
  local kept
  local function keep(s) kept = s end
  keep(("pro" .. "to"))
  print(pkt.ip[kept], pkt.ip[(("TTL"):lower())])
end)
