-- What closes a variable is given the error value itself, also where nobody catches the error; and what fails while variables
-- are closed is worded, and given to the handler of xpcall, as any other error is.
-- frames: udp:a udp:b udp:c udp:d udp:e udp:f udp:g udp:h udp:i
local xdp = require "xdp"
local function closing(f)
  return setmetatable({}, { __close = f })
end
local function described(code, f)
  return setmetatable({ code = code }, { __tostring = f or function(e) return "code " .. e.code end })
end
local function show(name, e)
  print(name, type(e), type(e) == "table" and e.code or e)
end
xdp.attach(function(pkt)
  local kind = pkt.payload
  local outer <close> = closing(function(_, e)
    show("outer", e)
  end)
  local inner <close> = closing(function(_, e)
    show("inner", e)
    if kind == "c" then
      error("another")
    elseif kind == "d" then
      error(described(8))
    end
  end)
  if kind == "a" then
    error("the first")
  elseif kind == "b" or kind == "d" then
    error(described(7))
  elseif kind == "c" then
    local none
    return none.field
  elseif kind == "e" then
    error(described(7, function() return 5 end))
  elseif kind == "f" then
    error(described(7, function(e)
      print(pcall(error, "caught"))
      error("in " .. e.code)
    end))
  elseif kind == "g" then
    error({ code = 9 })
  elseif kind == "h" then
    print(xpcall(function()
      local last <close> = closing(function(_, e)
        show("last", e)
        error("second", 0)
      end)
      error("first", 0)
    end, function(e)
      return "<" .. tostring(e) .. ">"
    end))
  end
  return nil + 1
end)
