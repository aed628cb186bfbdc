-- Goes through the entries of a map of an object, outside of packets.
return function(keys)
  return function(number, map, keyed)
    local all, at = keys(number), 0
    return function()
      while true do
        at = at + 1
        if all[at] == nil then return nil end
        local key = keyed(all[at])
        local value = map[key]
        if value ~= nil then return key, value end
      end
    end
  end
end
