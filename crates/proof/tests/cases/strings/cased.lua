-- What lower and upper give is looked up, compared, searched, cut, joined and changed again, and never written before it has to be.
-- frames: udp:Metrics.ADS-Network.Example udp:HOST7.blocked.EXAMPLE udp:x udp-empty tcp udp:User-agent:\s\sCurl\s\r\n udp:[@`{]Zz\xc0\xe0
local xdp = require "xdp"
local few = { ["metrics.ads-network.example"] = 1, ["X"] = 2, ["Mixed"] = 3 }
local many = { ["METRICS.ADS-NETWORK.EXAMPLE"] = 100, x = 101 }
for i = 1, 40 do
  many["host" .. i .. ".blocked.example"] = i
end
local function plain(name)
  if name:byte(-1) == 46 then name = name:sub(1, -2) end
  return name:lower()
end
xdp.attach(function(pkt)
  local s = pkt.payload or pkt:getstring(0, 30)
  local low, up = s:lower(), s:upper()
  print(few[low], few[up], many[low], many[up], few[plain(s)], many[plain(s)])
  print(low == "metrics.ads-network.example", low == "Metrics.ads-network.example", up == "X", low == up, low == s, low < up, low <= s)
  print(#low, low:byte(1, 3), low:byte(-1), up:byte(2), low:sub(2, 9), up:sub(-4):lower(), low:upper() == up, up:lower():upper():lower())
  print(low .. "|" .. up, ("%5s|%-5s|%.3s|%q"):format(up, low, low, up), low:reverse(), up:rep(2, "-"), tonumber(low, 36))
  print(low:find("ads", 1, true), low:find("ADS", 1, true), up:find("ADS", 1, true), low:match("^(%a+)%.(.-)%.(%u*)"), up:match("(%u+)%.(%l*)"))
  print(low:match("[a-c]+"), up:match("[^a-z]+"), low:match("%f[%w]%w+$"), low:match("(%w)%1"), up:match("%b[]"), low:match("[`-{]+()"))
  print((low:gsub("[aeiou]", "*")), (up:gsub("%w+", "<%0>")), low:match("user%-agent:[ \t]*(.-)[ \t]*\r?\n"))
  local either = #s % 2 == 0 and low or s
  print(either, few[either], either == low, either:upper() == up, type(either))
  local n = 0
  for word in low:gmatch("%a+") do
    n = n + (many[word] or #word)
    if word == up:lower() then n = -n end
  end
  for i = 1, #s do
    if low < up:sub(i) then n = n + i end
    low = low:sub(2) .. "!"
  end
  print(n, low)
end)
