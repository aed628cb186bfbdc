-- redirect(interface): sends the packet out by the interface with that number, as it is.
return function(_, interface)
  return nil, redirect(interface & 0xffffffff)
end
