-- What rtnetlink(7) has, a class of sessions each.
return {
  addr = require("netlink.rt.addr"),
  link = require("netlink.rt.link"),
  route = require("netlink.rt.route"),
  rule = require("netlink.rt.rule"),
}
