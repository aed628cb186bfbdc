-- Rules, which say what routing table counts: which there are, one more, one less.
local object, message, struct = require("netlink.rt.object"), require("netlink.message"), require("struct")
local constants, routes = require("linux.netlink"), require("linux.rtnetlink")
local IPV4 = require("linux.socket").af.INET
local codec, types, attributes = struct(routes.layout.fib_rule_hdr), routes.rtm, routes.fra

local rule = object:new{
  codec = codec,
  GET = types.GETRULE,
  NEW = types.NEWRULE,
  DEL = types.DELRULE,
  TABLE_MAX = object.tablemax(codec, "table"),
}

function rule:decode(body)
  local family, _, _, _, table, action, flags = codec:unpack(body)
  local given = message.attrs(body, codec.size + 1)
  return {
    family = family,
    action = action,
    flags = flags,
    table = message.u32(given[attributes.TABLE]) or table,
    priority = message.u32(given[attributes.PRIORITY]),
    fwmark = message.u32(given[attributes.FWMARK]),
  }
end

local function described(self, wanted)
  local table = self:headertable(wanted.table or routes.table.MAIN)
  return codec:pack(wanted.family or IPV4, 0, 0, 0, table, wanted.action or routes.fr_act.TO_TBL, 0)
    .. message.attrs{
      [attributes.TABLE] = self:attrtable(wanted.table),
      [attributes.PRIORITY] = wanted.priority,
      [attributes.FWMARK] = wanted.fwmark,
      [attributes.PROTOCOL] = wanted.protocol and string.char(wanted.protocol),
    }
end

-- add{table =, priority =, fwmark =, protocol =, action =, family =}
function rule:add(wanted)
  self:talk(self.NEW, constants.flag.CREATE | constants.flag.EXCL, described(self, wanted))
end

function rule:del(wanted) self:talk(self.DEL, nil, described(self, wanted)) end

return rule
