-- What the hook does not have is a slip, also deep in a function that others call with something else.
local function send(pkt, where)
  return redirect(where)
end
require("tc").ingress(function(pkt)
  if #pkt > 60 then return send(pkt, { group = { "lo" } }) end
  if #pkt > 50 then return redirect { group = { "lo" } } end
  return send(pkt, 1)
end)
