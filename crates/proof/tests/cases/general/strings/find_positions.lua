-- Where find, match and gmatch begin; plain search; patterns from the packet (manual § 6.5).
-- frames: udp:l+ udp:%w udp:o\sw udp: udp:. udp:%a%d udp:^h
local xdp = require "xdp"
local text = "hello world 12 (x) l+ %w"
xdp.attach(function(pkt)
  local p = pkt.payload or ""
  for _, init in ipairs { 1, 4, 0, -1, -5, 100, -100, #text, #text + 1, #text + 2, math.maxinteger, math.mininteger } do
    print(init, text:find(p, init), "|", text:find(p, init, true), "|", text:match(p, init))
  end
  print(text:find("", 100), text:find("", #text + 1), (""):find(""), (""):find("", 2), text:find("l", nil), text:find("l", "4"))
  print(text:find("l", 1, nil), text:find("l", 1, 0), text:find("+", 1, true), text:find("%w", 1, true), text:find("\0"))
  local all = {}
  for w in text:gmatch(p) do all[#all + 1] = w == "" and "EMPTY" or w end
  print(#all, table.concat(all, ","))
  all = {}
  for w in text:gmatch("%a+", -8) do all[#all + 1] = w end
  for at, w in text:gmatch("()(%d)") do all[#all + 1] = at .. w end
  for w in ("abc"):gmatch("") do all[#all + 1] = "e" end
  for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do all[#all + 1] = v .. k end
  for w in ("aXbX"):gmatch("(.-)X") do all[#all + 1] = w end
  for w in ("hello"):gmatch("^h") do all[#all + 1] = "anchored" end
  print(table.concat(all, ","))
  local next_word = text:gmatch("%S+")
  print(next_word(), next_word(), (next_word()))
end)
