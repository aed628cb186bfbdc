-- Gives the handler that bench/lunatik/NAME.lua registers by Lunatik's interfaces: the text that Moonhook compiles, run by PUC Lua. What handlers of
-- netfilter ask of an skb the host gives.
return function(path)
  local handler
  package.preload["netfilter"] = function()
    return { register = function(described) handler = described.hook end }
  end
  package.preload["linux.nf"] = function()
    return {
      action = { DROP = 0, ACCEPT = 1 }, proto = { IPV4 = 2 }, inet = { LOCAL_OUT = 3 }, ip = { pri = { FILTER = 0 } },
    }
  end
  package.preload["xdp"] = function()
    return { attach = function(f) handler = f end }
  end
  package.preload["linux.xdp"] = function()
    return { ABORTED = 0, DROP = 1, PASS = 2 }
  end
  dofile(path)
  return handler
end
