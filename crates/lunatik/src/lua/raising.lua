-- Makes a function of one that gives `true` and its results, or the level of an error (Lua manual § 6.2, `error`) and its text.
local error = error

local function finish(state, ...)
  if state == true then return ... end
  local text = ...
  error(text, state)
end

return function(raw)
  return function(...) return finish(raw(...)) end
end
