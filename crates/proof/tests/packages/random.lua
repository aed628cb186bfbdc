-- What a chain gives that the test has made.
local xdp, eclat = require "xdp", require "eclat"
local main = eclat.chain("random.eclat", "main")
xdp.attach(function(pkt)
  print(main(pkt, #pkt))
end)
