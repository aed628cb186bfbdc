-- Gives the handler that bench/lunatik/NAME.lua registers by Lunatik's interfaces: the text that Moonhook compiles, run by PUC Lua. What handlers of
-- netfilter ask of an skb the host gives.
return function(path)
  local handler
  package.preload["netfilter"] = function()
    return { register = function(described) handler = described.hook end }
  end
  package.preload["linux.nf"] = function()
    return {
      action = { DROP = 0, ACCEPT = 1 }, proto = { IPV4 = 2 }, inet = { PRE_ROUTING = 0, FORWARD = 2, LOCAL_OUT = 3 }, ip = { pri = { MANGLE = -150, FILTER = 0 } },
    }
  end
  local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
  return dofile(folder .. "/script.lua")(path) or handler
end
