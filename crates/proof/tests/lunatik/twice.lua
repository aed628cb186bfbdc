-- The handler is what stands in the table when the script has ended, and one that was registered twice is asked twice.
local netfilter, nf = require("netfilter"), require("linux.nf")

local function says(text)
  return function()
    print(text)
    return nf.action.ACCEPT
  end
end

local twice = { hook = says("another"), pf = nf.proto.IPV4, hooknum = nf.inet.FORWARD, priority = 0 }
local late = setmetatable({ hooknum = nf.inet.FORWARD, priority = 0, pf = nf.proto.IPV4 }, { __index = { hook = says("late") } })
netfilter.register(twice)
netfilter.register(late)
netfilter.register(twice)
twice.hook, twice.priority = says("twice"), 7
