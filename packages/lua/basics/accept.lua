-- accept(): lets the packet pass to the network stack. (`pass` is a word of the language.)
local PASS <const> = 2
return function()
  return nil, PASS
end
