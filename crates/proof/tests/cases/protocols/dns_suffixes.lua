-- The domains that a name is under, each looked up; names and what follows their dots.
-- frames: dns:www.example.org dns:WWW.Ads.Example.COM dns:example.com dns:notexample.com dns:a.b.c.d.e.f.example.com udp: dns6 tcp
local xdp = require "xdp"
local set = require "set"
local listed = { ["example.com"] = true, ["ads.example.com"] = true, ["org"] = true }
local labels = set.labeled { ["example.com"] = 1, ["ads.example.com"] = 2, ["org"] = 4 }

xdp.attach(function(pkt)
  local dns = pkt.dns
  local name = dns and not dns.qr and dns.qname
  if not name then return 2 end
  local domain = name:lower()
  print(labels:match(domain))
  while domain do
    print(domain, listed[domain])
    domain = domain:match "%.(.+)"
  end
end)
