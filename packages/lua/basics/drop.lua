-- drop(): drops the packet.
local DROP <const> = 1
return function()
  return nil, DROP
end
