-- Calls a flow's function in real Lua.
return function(find)
  return function(number, pkt, arg, ...)
    local own, call = find(number, ...)
    if not own then return false end
    if call then return true, call(own, pkt, arg) end
    return true, own(pkt, arg)
  end
end
