-- `#`, `==`, `<` on strings from the packet and from the script.
-- frames: udp:abc udp:abd udp:ab udp:abcd udp:a\x00c udp:\xff\xfe udp-empty tcp arp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(#s, s == "abc", s ~= "abc", s < "abc", s <= "abc", s > "abc", s >= "abc", "abc" < s, s == "")
  print(s == "a\0c", s < "a\0d", s < "\xff", s > "\xfe", s == s, s < s, s <= s, rawlen(s), s:len())
  local t = pkt:getstring(0, 3)
  print(s == t, s < t, s <= t, t < s, s == pkt:getstring(42), s == "a" .. "bc")
  if #s > 1 then print(s:sub(1, 1) < s:sub(2, 2), s:sub(1, 1) == s:sub(2, 2)) end
end)
