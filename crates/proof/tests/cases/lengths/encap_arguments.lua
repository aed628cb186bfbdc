-- Arguments of `pkt:encap` that are none, by place.
-- frames: udp
local tc = require "tc"
local function try(...)
  local arguments = table.pack(...)
  return function(pkt) pkt:encap(table.unpack(arguments, 1, arguments.n)) end
end
local tries = {
  try("192.0.2.1", "192.0.2.2", true), try("192.0.2.1"), try("192.0.2.1", 7), try(true, "192.0.2.2"), try("192.0.2.1", "::1"),
  try("192.0.2.1", "192.0.2.2", 256), try("192.0.2.1", "192.0.2.2", "x"), try("192.0.2.1", "192.0.2.2", {}), try(),
  try("x", "192.0.2.2", true), try("192.0.2.1", "x", true), try("x", "y", true), try("x", "::1", 7), try("::1", "192.0.2.2", true),
  try("192.0.2.1", "192.0.2.2", 1.5), try("192.0.2.1", "192.0.2.2", nil, 7),
}
tc.ingress(function(pkt)
  for i = 1, #tries do print(i, pcall(tries[i], pkt)) end
end)
