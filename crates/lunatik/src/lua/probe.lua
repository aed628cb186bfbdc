-- Makes what calls a probe's handlers: with a handler's name and how often it is to be called, it gives how often that was, which is less where `goes_on` says
-- that it is enough. Handlers get the place of the probe and a function that is of use only meanwhile; `tell` gets what they raise.
local pcall, error, tostring, type = ...

return function(handlers, place, goes_on, tell)
  local depth = 0

  -- Calls are counted where they happen; by now there are no registers.
  local function dump()
    if depth == 0 then error("null pointer dereference", 2) end
    tell("[probe] " .. tostring(place) .. ": registers are gone when a handler is called")
  end

  return function(name, owed)
    for made = 1, owed do
      local handler = handlers[name]
      if type(handler) == "function" then
        depth = depth + 1
        local is_done, problem = pcall(handler, place, dump)
        depth = depth - 1
        if not is_done then tell(problem) end
      end
      if not goes_on() then return made end
    end
    return owed
  end
end
