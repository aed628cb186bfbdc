-- Addresses of interfaces.
local object, message, struct = require("netlink.rt.object"), require("netlink.message"), require("struct")
local routes = require("linux.rtnetlink")
local codec = struct(routes.layout.ifaddrmsg)

local addr = object:new{ codec = codec, GET = routes.rtm.GETADDR, NEW = routes.rtm.NEWADDR }

-- The address is bytes as they are sent; at links of two ends it is the other one's.
function addr:decode(body)
  local family, length, _, scope, index = codec:unpack(body)
  local attributes = message.attrs(body, codec.size + 1)
  return {
    family = family,
    prefix_len = length,
    scope = scope,
    ifindex = index,
    address = attributes[routes.ifa.ADDRESS] or attributes[routes.ifa.LOCAL],
    label = message.str(attributes[routes.ifa.LABEL]),
  }
end

return addr
