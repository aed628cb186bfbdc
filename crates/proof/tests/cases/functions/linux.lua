-- What the kernel knows: the time and random numbers, of which only what is certain can be compared.
-- frames: udp hex:0001020304050607080910111213 hex:0504030201000000000000000000
local xdp = require "xdp"
local linux = require "linux"

xdp.attach(function(pkt)
  local before = linux.time()
  local n = pkt:getuint8(0) + 1
  local one, range = linux.random(n), linux.random(-n, n)
  print(one >= 1 and one <= n, range >= -n and range <= n, linux.random(n, n) == n, linux.random(1))
  print(linux.random() == linux.random(), math.type(linux.random()))
  local spent = linux.difftime(linux.time(), before)
  local began = linux.monotonic()
  print(began > 0, linux.monotonic() - began < 1000000000, linux.monotonic() >= began)
  print(spent >= 0 and spent < 1000000000, linux.difftime(n, "3"), before > 1700000000000000000)
  if n == 1 then linux.random(n, 0) end
  linux.random(1, 2, n)
end)
