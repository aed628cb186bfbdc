-- A metatable of the globals, for names that packets assign; one with `__newindex` of a table that they assign by a constant name.
-- frames: tcp udp short arp
setmetatable(_G, {
  __newindex = function(t, name, value)
    print("new", name)
    if name ~= "refused" then rawset(t, name, value) else error("undeclared " .. name, 2) end
  end,
  __index = function(_, name) return "no " .. name end,
})
local noted = setmetatable({}, { __newindex = function(_, name, value) print(name, value) end })
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(pcall(function() refused = 1 end))
  print(count)
  noted.length = #pkt
end)
