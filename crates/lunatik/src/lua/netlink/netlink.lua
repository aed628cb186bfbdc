-- What the kernel is asked and told by netlink (netlink(7)): `netlink.rt`, routes, links, addresses and rules; `netlink.genl`, families of generic
-- netlink; `netlink.nl80211`, wireless ones.
return {
  channel = require("netlink.channel").new,
  genl = require("netlink.genl"),
  nl80211 = require("netlink.nl80211"),
  rt = require("netlink.rt"),
}
