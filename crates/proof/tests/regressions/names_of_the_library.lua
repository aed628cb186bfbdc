-- A table of the script's that has a name and functions of the library is the script's.
-- frames: tcp short
local xdp = require "xdp"
local string = { format = string.format, x = 1 }
local keys = { "x", "format" }
table = { concat = table.concat, n = 0 }
xdp.attach(function(pkt)
  string.x = string.x + 1
  table.n = table.n + #pkt
  print(string.x, string[keys[1]], string[keys[2]]("%d", 7), table.n, table.concat({ 1, 2 }, "-"))
end)
