-- What an error says of the value that caused it: local, upvalue, field, method, constant, global (manual § 4.7, ldebug.c).
-- frames: hex:0305010000000000000000000000 udp:x
local xdp = require "xdp"
local up, config = nil, { limits = {}, name = "text", [1] = true }
local tests = {
  function(x) local a; return a.b end,
  function(x) local a; a.b = 1 end,
  function(x) local a; return a[x] end,
  function(x) local a; a() end,
  function(x) local a; return a + x end,
  function(x) local a = "s"; return x - a end,
  function(x) local a = {}; return -a end,
  function(x) local a; return #a end,
  function(x) local a; return a .. x end,
  function(x) local a = {}; return x .. a end,
  function(x) local a; return a < x end,
  function(x) local a = {}; return a & 1 end,
  function(x) local a = "x"; return 1 | a end,
  function(x) local a; return ~a end,
  function(x) return up.field end,
  function(x) up.field = x end,
  function(x) up() end,
  function(x) return up + 1 end,
  function(x) return #up end,
  function(x) return config.missing.field end,
  function(x) return config.limits.low.high end,
  function(x) config.missing.field = x end,
  function(x) return config.missing() end,
  function(x) return config:missing(x) end,
  function(x) return config.limits:missing() end,
  function(x) return config.missing + x end,
  function(x) return config.name + x end,
  function(x) return config.limits .. "x" end,
  function(x) return -config.limits end,
  function(x) return config[1] + 1 end,
  function(x) return config[1].x end,
  function(x) return config[x].y end,
  function(x) return config[x]() end,
  function(x) return config["a" .. x].y end,
  function(x) return undefined.x end,
  function(x) undefined.x = 1 end,
  function(x) undefined(x) end,
  function(x) undefined:method() end,
  function(x) return undefined + 1 end,
  function(x) return string.nothing(x) end,
  function(x) return ("s"):nothing() end,
  function(x) return ("s").a.b end,
  function(x) return x.y.z end,
  function(x) return x() end,
  function(x) x.y = 1 end,
  function(x) return (x)() end,
  function(x) return x:m() end,
  function(x) return (nil)[x] end,
  function(x) return (1)() end,
  function(x) return true + x end,
  function(x) return "a" + x end,
  function(x) return x + {} end,
  function(x) return {} < {} end,
  function(x) return {} < x end,
  function(x) return nil > x end,
  function(x) return print <= print end,
  function(x) local t = {} t[nil] = x end,
  function(x) return config.limits[x][x] end,
  function(x) for i = 1, config.missing do end end,
  function(x) for i = config, x do end end,
  function(x) for k in config.missing do end end,
  function(x) for k in pairs(config.missing) do end end,
  function(x) return 2 // (x - x) end,
  function(x) return 2 % (x - x) end,
  function(x) return x[1][2] end,
  function(x, y) return y.z end,
  function(x, ...) return (...).z end,
  function(x) local a <const> = nil; return a.b end,
  function(x) local a <const> = 5; return a.b end,
  function(x) goto done ::done:: return config.limits.a.b end,
}
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  for i = 1, #tests do
    local ok, message = pcall(tests[i], n)
    print(i, ok, ok or message:gsub("^.-:(%d+):", "%1"))
  end
  if pkt.udp then
    local port
    return port + n
  end
  return config.limits.low + n
end)
