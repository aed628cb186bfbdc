-- One step of a packet's way by two segments: into it, on, or out of it.
local xdp, eclat = require "xdp", require "eclat"
local main = eclat.chain("way.eclat", "main")
xdp.attach(function(pkt)
  main(pkt)
end)
