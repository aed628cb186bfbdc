-- Routes: which there are, one more, one less.
local object, message, struct = require("netlink.rt.object"), require("netlink.message"), require("struct")
local constants, routes = require("linux.netlink"), require("linux.rtnetlink")
local IPV4 = require("linux.socket").af.INET
local codec, types, attributes = struct(routes.layout.rtmsg), routes.rtm, routes.rta

local route = object:new{
  codec = codec,
  GET = types.GETROUTE,
  NEW = types.NEWROUTE,
  DEL = types.DELROUTE,
  TABLE_MAX = object.tablemax(codec, "rtm_table"),
}

-- Addresses are bytes as they are sent.
function route:decode(body)
  local found, table = {}, nil
  found.family, found.dst_len, found.src_len, found.tos, table, found.protocol, found.scope, found.rtype, found.flags =
    codec:unpack(body)
  local given = message.attrs(body, codec.size + 1)
  found.table = message.u32(given[attributes.TABLE]) or table
  found.dst, found.gateway = given[attributes.DST], given[attributes.GATEWAY]
  found.oif, found.priority = message.u32(given[attributes.OIF]), message.u32(given[attributes.PRIORITY])
  return found
end

-- The bytes of a request about a route.
local function described(self, wanted, protocol, scope, kind)
  local table = self:headertable(wanted.table or routes.table.MAIN)
  return codec:pack(wanted.family or IPV4, wanted.dst_len or 0, 0, 0, table, protocol, scope, kind, 0)
    .. message.attrs{
      [attributes.DST] = wanted.dst,
      [attributes.GATEWAY] = wanted.gateway,
      [attributes.OIF] = wanted.oif,
      [attributes.TABLE] = self:attrtable(wanted.table),
    }
end

-- add{dst =, dst_len =, gateway =, oif =, family =, table =, protocol =, scope =, rtype =}
function route:add(wanted)
  local protocol, scope = wanted.protocol or routes.rtprot.STATIC, wanted.scope or routes.scope.UNIVERSE
  local request = described(self, wanted, protocol, scope, wanted.rtype or routes.rtn.UNICAST)
  self:talk(self.NEW, constants.flag.CREATE | constants.flag.EXCL, request)
end

-- Of whatever scope (`RT_SCOPE_NOWHERE`, fib_table_delete in net/ipv4/fib_trie.c).
function route:del(wanted)
  self:talk(self.DEL, nil, described(self, wanted, 0, routes.scope.NOWHERE, 0))
end

return route
