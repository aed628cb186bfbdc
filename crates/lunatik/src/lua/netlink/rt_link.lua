-- Interfaces: which there are, and whether they are up.
local object, message, struct = require("netlink.rt.object"), require("netlink.message"), require("struct")
local routes, ANY = require("linux.rtnetlink"), require("linux.socket").af.UNSPEC
local codec, types = struct(routes.layout.ifinfomsg), routes.rtm

local link = object:new{ codec = codec, GET = types.GETLINK, NEW = types.NEWLINK, SET = types.SETLINK }

-- Of all families at once.
function link:header() return object.header(self, ANY) end

function link:decode(body)
  local family, kind, index, flags, change = codec:unpack(body)
  local attributes = message.attrs(body, codec.size + 1)
  return {
    family = family,
    ltype = kind,
    ifindex = index,
    flags = flags,
    change = change,
    name = message.str(attributes[routes.ifla.IFNAME]),
    mtu = message.u32(attributes[routes.ifla.MTU]),
  }
end

-- set{ifindex =, up =}
function link:set(wanted)
  local flags = wanted.up and routes.iff.UP or 0
  self:talk(self.SET, nil, codec:pack(ANY, 0, wanted.ifindex, flags, routes.iff.UP))
end

return link
