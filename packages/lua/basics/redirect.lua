-- redirect(interface): sends the packet out by the interface with that number, as it is. Drops it where that is no number of an interface (1 to
-- 0x7fffffff); the kernel does so where there is none of that number.
local DROP <const>, MOST <const> = 1, 0x7fffffff
return function(_, interface)
  if interface < 1 or interface > MOST then
    return nil, DROP
  end
  return nil, redirect(interface)
end
