-- Random program 13, made small: MH0212 a record with more than fields as is not possible at packet time.
-- frames: hex:5077181ae4132acb474cff7f0800450aa4d395c98e78c09e15afd1ae77556f4ffa90c6b30b0b6dc2bcaf7f9dea03ecf04a8064fa4173dbc2a9021723f63a3746da8e8f40626a057cf298376a2512f59186c7606c4d198208f62d366fa67417413e21880979c1ea3c55dbed2bfcd4cc537fa8cf179409ec8afa782161cf4086fad9fd5ba3c456eeef5e279e24d96b1610979b6b343a7f46aebea97f1049906dc257d54f
local xdp, tc = require "xdp", require "tc"
xdp.attach(function(pkt)
  print(pcall(function() pkt.meta = { class = (#l2 ~= (t[i42 & 15] or n)) and #(pkt.payload and pkt.payload or "none"):sub(1, 20) or "text" } end))
  local d44 = setmetatable({ a = 1 }, { __index = r45, __newindex = r45 })
  while c54 < 9 do
    local v56 = (rawget({ [((pkt.http and pkt.http.path or "none"):sub(-pkt:getint8(0)) ~= s1)] = table.pack().n, ["c" .. math.tointeger(0)] = (#pkt > 46 and pkt:getuint8(46) or (math.maxinteger)) }, ({ x = { y = { n, (-4) } } }).x.y[1 + 1]) or n)
  end
end)
