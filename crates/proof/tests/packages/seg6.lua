-- What the chain gives for each frame.
local xdp, eclat = require "xdp", require "eclat"
local main = eclat.chain("seg6.eclat", "main")
xdp.attach(function(pkt)
  print(main(pkt, #pkt))
end)
