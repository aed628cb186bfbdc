-- Calls a chain in real Lua.
return function(find)
  return function(number, pkt, ...)
    local call = find()
    if not call then error("chains run when packets arrive", 2) end
    return call(number, pkt, ...)
  end
end
