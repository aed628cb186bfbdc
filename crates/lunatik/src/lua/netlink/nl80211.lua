-- What the family nl80211 has of wireless interfaces, a class of sessions each.
return {
  ap = require("netlink.nl80211.ap"),
  interface = require("netlink.nl80211.interface"),
  station = require("netlink.nl80211.station"),
  wiphy = require("netlink.nl80211.wiphy"),
}
