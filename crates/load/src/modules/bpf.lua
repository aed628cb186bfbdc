-- Calls a function of an object in real Lua.
return function(find)
  return function(number, ...)
    local call = find()
    if not call then error("functions of objects run when packets arrive", 2) end
    return call(number, ...)
  end
end
