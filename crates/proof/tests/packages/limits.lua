-- What the chain gives for each frame.
local xdp, eclat = require "xdp", require "eclat"
local main = eclat.chain("limits.eclat", "main")
xdp.attach(function(pkt)
  print(main(pkt, #pkt))
end)
