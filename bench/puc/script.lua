-- Gives the handler that bench/scripts/NAME.lua registers: the text that Moonhook compiles, run by PUC Lua.
return function(path)
  local handler
  package.preload["xdp"] = function()
    return { attach = function(f) handler = f end }
  end
  package.preload["linux.xdp"] = function()
    return { ABORTED = 0, DROP = 1, PASS = 2 }
  end
  dofile(path)
  return handler
end
