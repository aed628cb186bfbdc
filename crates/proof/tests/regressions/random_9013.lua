-- Random program 9013, made small: general code: output.
-- frames: hex:3e855f1367a79a0a69f65d8713a4392e2730e0ea8e2e2b0ed49bdbfe1652b593a9eb297a8dce2c39e3f05513bccbfec7ef13a16b70f5484a3e05088ba52686cf90230c397c218ee36a5958e2f89a53936c9af5df6b64b892f3161b5ef064efdc5862dbf64431
local xdp, tc = require "xdp", require "tc"
local function outcome(ok, ...)
  local e = ...
  if type(e) == "table" then return ok, "table", (rawget(e, "code")) end
  return ok, ...
end
local u1 = 5
local u2 = (math.mininteger)
local u3 = (-9)
xdp.attach(function(pkt)
  local n = #pkt
  print(outcome(pcall(function()
    local ok, e = pcall(function()
      print(outcome(pcall(function()
        local n4 = 0
        for i5, v6 in coroutine.wrap(function()
          local v7 = math.max(u1, (100), (0x7fffffff))
          print(outcome(pcall(function()
            local h8 <close> = closing((- v7))
            local broken <close> = setmetatable({}, { __close = function(_, e)
              error("from closing: " .. type(e), 0)
            end })
            local counted <close> = setmetatable({}, { __close = function()
              v7 = v7 + 1
            end })
            local y9 = coroutine.yield((u2 & (10)), (((100) >= n) and 22 or n)) or 3
            return v7, (u3 + u2)
          end)))
          print(v7)
          local co10 = coroutine.create(function(a, b)
            a = a or 1
            b = b or 1
            local v11 = u3
            a = (0xffffffff)
            local y12 = coroutine.yield((v11 + (-8)), pkt:getbyte(12)) or 3
            do
              local m = setmetatable({}, { __lt = function() return coroutine.yield(1) end })
              print(tostring(m > m and 1 or 2))
            end
            return ((-11) - u2), (u2 & y12)
          end)
          print(outcome(coroutine.resume(co10, n, (#pkt > 55 and pkt:getuint8(55) or (63)))))
          print(coroutine.status(co10))
          if (u1 == (u1 + n)) then
            local v13 = ((function() end) < u1)
          elseif (((u3 > (-1)) and (n ~= u1)) and ((u2 >= u2) or (u3 <= 8))) then
            local d14 = setmetatable({ a = u2 }, { __index = setmetatable({ b = (u1 | u3) }, { __index = function(_, key)
              return key == "far" and 9 or nil
            end, __call = rawget }) })
            print(d14.a, d14.b, d14.far, d14.missing, getmetatable(d14).__index("b"))
            local v15 = (~ u2)
          end
          print(outcome(coroutine.resume(co10, pkt:getuint16(((#pkt > 13 and pkt:getuint8(13) or (0xffffffff)) % (n - 1))), ((0xffff) ~ u3))))
          print(coroutine.status(co10))
          local v16 = pkt:getuint32(((5 & (0)) & 31))
          print(outcome(coroutine.resume(co10, (select(-1, v16, u2)), (u3 ~ v16))))
          print(coroutine.status(co10))
          print(outcome(coroutine.resume(co10, 12, (u2 * (-7)))))
          print(coroutine.status(co10))
          print(outcome(higher(2, coroutine.resume, co10, pkt:getint8((pkt:getuint16(((v16 // 3) & 7)) & 7)), n)))
          print(coroutine.status(co10))
          print(outcome(higher(0, coroutine.resume, co10, (v16 | u2), ((255) * n))))
          print(coroutine.status(co10))
          v16 = (((u3 & n) == (n & (0xffffffff))) and (coroutine.yield(((10) // (u1 | 1))) or 2) or pkt:getuint32(6))
          do
            local m = setmetatable({}, { __eq = function() return coroutine.yield(1) end })
            print(tostring(m ~= setmetatable({}, getmetatable(m)) and 1))
          end
          return (((v16 < 12) or (u2 == u2)) and u3 or (64)), (~ u2)
        end) do
          n4 = n4 + 1 if n4 > 6 then break end
          print(n4, type(i5), v6 == nil)
          local ok17, e18 = pcall(function()
            local v19 = (((select(2, n4, (1))) < (~ u3)) and (u3 & pkt:getuint32(((23 & u3) & 7))) or n4)
            return (n4 & (u1 * u3)), u3
          end)
          print(ok17, type(e18), ok17 and e18 or type(e18) == "string" and #e18)
        end
      end)))
      return ((u1 << (u2 & 63)) - (12 >> 25)), pkt:getuint16((n - 2))
    end)
    if not ok then
      error(e, 2)
    end
    return e
  end)))
  local d20 = setmetatable({ a = (math.maxinteger) }, { __index = setmetatable({ b = (- n) }, { __index = function(_, key)
    return key == "far" and 9 or nil
  end, __call = rawget }) })
  print(d20.a, d20.b, d20.far, d20.missing, getmetatable(d20).__index("b"))
  return u3 & 3
end)
