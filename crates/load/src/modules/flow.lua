-- Calls a flow's function in real Lua.
return function(find)
  return function(number, pkt, arg, ...)
    local own = find(number, ...)
    if own then
      return true, own(pkt, arg)
    end
    return false
  end
end
