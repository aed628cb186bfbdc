-- An error that is nil is none for who catches it or is closed because of it: "<no error object>". A message handler sees nil.
-- frames: tcp udp icmp
local xdp = require "xdp"
local function closing(name)
  return setmetatable({}, { __close = function(_, e) print(name, e ~= nil) end })
end
xdp.attach(function(pkt)
  print(pcall(error))
  print(pcall(error, nil, 2))
  print(xpcall(error, function(e) return e end))
  print(xpcall(error, function(e) return type(e), 2 end))
  print(pcall(function()
    local first <close> = setmetatable({}, { __close = function(_, e) print("first", e) end })
    local second <close> = setmetatable({}, { __close = function(_, e) print("second", e) error(pkt.tcp and "other" or nil) end })
    error()
  end))
  print(xpcall(function()
    local it <close> = setmetatable({}, { __close = function(_, e) print("handled", e) end })
    error(nil, 2)
  end, function(e) return e end))
  local it <close> = closing("uncaught")
  if pkt.udp then error(nil, 2) end
  if pkt.icmp then error() end
end)
