-- Comparison of all types, equal and not; strings by bytes; errors (manual § 3.4.4).
-- frames: udp:abc udp:abd udp:ab udp:\xff udp:a\x00b udp:a\x00c
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
local function lt(a, b) return a < b end
local function le(a, b) return a <= b end
xdp.attach(function(pkt)
  local s, n = pkt.payload, pkt:getuint8(42)
  print(s < "abc", s <= "abc", s > "abc", s >= "abc", s == "abc", s ~= "abc", "a\0b" < s, s < "a\0b", "" < s, s < "")
  local t, f = {}, function() end
  local values = { n, -n, s, true, false, t, {}, f, print }
  for i = 1, #values do
    local row = {}
    for j = 1, #values do row[j] = values[i] == values[j] and "=" or "." end
    print(i, table.concat(row), values[i] == nil, values[i] ~= nil)
  end
  for _, pair in ipairs { { 1, s }, { s, 1 }, { nil, 1 }, { 1, nil }, { true, false }, { t, t }, { t, 1 }, { f, f }, { s, t } } do
    print(try(lt, pair[1], pair[2]), try(le, pair[1], pair[2]))
  end
  print(try(lt, nil, nil), try(function() return n < pkt end), try(function() return pkt < pkt end), pkt == pkt, pkt == t)
  print(n < 98, 98 < n, n <= 97, n >= 98, math.mininteger < n, n < math.maxinteger, not (n < 97), -n < n)
end)
