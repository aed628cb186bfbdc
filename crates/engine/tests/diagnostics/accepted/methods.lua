local xdp = require "xdp"
local Counter = {limit = 5}
Counter.__index = Counter
function Counter:over(n) return n > self.limit end
local c = setmetatable({limit = 100}, Counter)
local d = setmetatable({}, Counter)
xdp.attach(function(pkt) if c:over(#pkt) and d:over(#pkt) then return 1 end end)
