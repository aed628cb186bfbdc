-- Strings of all lengths up to what a table takes, the last bytes of which are read too.
-- frames: tcp udp tcp6 tls http:curl udp-empty icmp6
local xdp = require "xdp"
local odd = map { key = "int", value = "string:101" }
local long = map { key = "int", value = "string:200" }
local longer = map { key = "string:203", value = "string:205" }
xdp.attach(function(pkt)
  local n = #pkt % 100
  odd[1], odd[2] = pkt:getstring(0, n % 50) .. "end", ("x"):rep(100) .. "y"
  long[1], long[2] = pkt:getstring(0, 50) .. n, ("long"):rep(50)
  longer["k"], longer[("key"):rep(67) .. "k" .. n % 10] = ("z"):rep(204) .. "!", tostring(n)
  print(#odd[1], odd[1]:sub(-3), odd[2], #long[1], long[1]:sub(-2), long[2]:sub(190), longer.k:sub(198))
  for key, value in pairs(longer) do
    if #key > 1 and longer[key] == tostring(n) then print(#key, key:sub(-5), value) end
  end
end)
