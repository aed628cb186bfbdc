-- Where a program of a chain has a verdict, nothing more of the handlers runs, whatever catches errors.
local xdp, eclat = require "xdp", require "eclat"
local limited = eclat.chain("ends.eclat", "limited")
local seen = 0

local function handler(message)
  seen = seen + 100
  print("handler")
  return message
end

-- How what may end the packet is called.
local ways = {
  [0] = function(pkt, key)
    print(pcall(limited, pkt, key))
    print "behind a pcall"
    seen = seen + 1
  end,
  function(pkt, key)
    print(pcall(pcall, limited, pkt, key))
    pkt:setbyte(0, 7)
  end,
  function(pkt, key)
    print(xpcall(limited, handler, pkt, key))
    print "behind an xpcall"
  end,
  function(pkt, key)
    local ok = xpcall(function()
      pcall(limited, pkt, key)
      seen = seen + 1
      error "never without a verdict"
    end, handler)
    print("behind", ok)
  end,
  function(pkt, key)
    local closed <close> = setmetatable({}, { __close = function()
      seen = seen + 10
      print "closed"
    end })
    print(limited(pkt, key))
  end,
}

xdp.attach(function(pkt)
  if #pkt < 20 then return end
  seen = seen + 1
  print(seen)
  local way = pkt:getbyte(1) % 5
  ways[way](pkt, way)
  print "first"
end)
xdp.attach(function(pkt) print("second", #pkt, pkt:getbyte(0), seen) end)
