-- compare(name, real, ours, arguments…): an error if the two functions' results or errors differ. What depends on where a
-- function was called from, and under which name, is left out of errors. True if there was nothing to compare, because ours
-- came to the end of its budget, which real Lua does not have.

local function outcome(f, ...)
  local results = table.pack(pcall(f, ...))
  if not results[1] then
    return "error: " .. tostring(results[2]):gsub("^[^:]*:%d+: ", ""):gsub(" to '[^']*'", "")
  end
  for index = 2, results.n do
    local value = results[index]
    results[index] = ("%s %q"):format(math.type(value) or type(value), value)
  end
  return table.concat(results, ", ", 2, results.n)
end

local function text(...)
  local arguments = table.pack(...)
  for index = 1, arguments.n do
    local value = arguments[index]
    arguments[index] = type(value) == "string" and ("%q"):format(value) or tostring(value)
  end
  return table.concat(arguments, ", ")
end

return function(name, real, ours, ...)
  local expected, found = outcome(real, ...), outcome(ours, ...)
  if found == "error: step budget exhausted" then
    return true
  end
  if expected ~= found then
    error(("%s(%s)\n  Lua:  %s\n  ours: %s"):format(name, text(...), expected, found), 0)
  end
end
