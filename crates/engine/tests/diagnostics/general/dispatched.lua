-- What a function assigns that packet code finds by a computed name has to be a map.
local actions, counts = {}, {}
function actions.note(key) counts[key] = 1 end
function actions.count(key) counts[#key] = 2 end
require("xdp").attach(function(pkt)
  actions[pkt:getbyte(0) > 1 and "note" .. "" or "count" .. ""](pkt:getstring(0, 2))
end)
