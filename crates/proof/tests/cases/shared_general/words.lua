-- Words counted by a loop over matches, in all the ways that people write additions.
-- frames: all tcp:GET\s/\sGET\sHTTP tcp:a\sbb\sa\sccc udp:a\sbb tls tcp:GET\s/\sGET\sHTTP
local xdp = require "xdp"
local words = map { key = "string:32", value = "int" }
local lengths = map { key = "int", value = "int" }
local last = map { key = "string:8", value = "string:32" }
xdp.attach(function(pkt)
  pcall(type, pkt)
  for word in (pkt.payload or ""):gmatch("%w+") do
    words[word] = (words[word] or 0) + 1
    local n = lengths[#word]
    if not n then n = 0 end
    lengths[#word] = n + #pkt
    if words.GET then words.GET = words.GET - 3 end
    words["sum"] = #word + (words["sum"] or 0)
    last[word:sub(1, 1)] = word
    print(word, words[word], lengths[#word], lengths[1.0], lengths.x, words[1], last.G, last[word:sub(1, 1)])
  end
end)
