-- Calls a flow's function in real Lua.
return function(find)
  return function(number, pkt, arg, ...)
    local own, check = find(number, ...)
    if not own then return false end
    if not check then return true, own(pkt, arg) end
    return true, check(pkt, (own(pkt, arg)))
  end
end
