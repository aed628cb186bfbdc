-- The handler of `xpcall` is called for its own errors, too, until it returns or no more calls are possible.
-- frames: udp tcp
require("xdp").attach(function(pkt)
  print(xpcall(function() error({}) end, function(x) return x .. "!" end))
  local calls = 0
  print(xpcall(error, function(x)
    calls = calls + 1
    if calls < #pkt // 10 then error("again " .. calls, 0) end
    return "after " .. x
  end, "first"))
  print(calls, (xpcall(error, function(x) error(x) end, "x")))
  print(select(2, xpcall(error, function() local a = nil + 1 end, "x")))
  print(xpcall(function()
    return pcall(error, "inner"), type(select(2, xpcall(error, function(x) return { x } end, 1)))
  end, print))
  print(xpcall(error, function(x) return xpcall(error, function(y) return x .. y end, "b") end, "a"))
end)
