-- class{…}: a table that others are made of with `new`, which find in it what they lack.
local function new(parent, object)
  parent.__index, parent.__close = parent, parent.close
  return setmetatable(object or {}, parent)
end

return function(base)
  base = base or {}
  base.new = new
  return base
end
