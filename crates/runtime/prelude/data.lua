-- Methods of packets that take tables.

-- What is wrong with that which is to carry a packet, as the part that raises the error numbers it.
local SEVERAL <const> = 1
local GRE <const> = 2
local VXLAN <const> = 3
local GUE <const> = 4

function data.encap(...)
  local packet, fields = ...
  if type(fields) ~= "table" then
    prim.encap(...)
    return
  end
  local src, dst, ttl = fields.src, fields.dst, fields.ttl
  local gre, vxlan, gue = fields.gre, fields.vxlan, fields.gue
  if gre ~= nil and (vxlan ~= nil or gue ~= nil) or vxlan ~= nil and gue ~= nil then
    prim.encap_refused(packet, src, dst, ttl, SEVERAL)
  elseif gre ~= nil then
    if type(gre) == "table" then
      prim.encap_gre(packet, src, dst, ttl, gre.key)
    else
      prim.encap_refused(packet, src, dst, ttl, GRE)
    end
  elseif vxlan ~= nil then
    if type(vxlan) == "table" then
      prim.encap_vxlan(packet, src, dst, ttl, vxlan.vni, vxlan.port, vxlan.sport)
    else
      prim.encap_refused(packet, src, dst, ttl, VXLAN)
    end
  elseif gue ~= nil then
    if type(gue) == "table" then
      prim.encap_gue(packet, src, dst, ttl, gue.port, gue.sport)
    else
      prim.encap_refused(packet, src, dst, ttl, GUE)
    end
  else
    prim.encap_ip(packet, src, dst, ttl)
  end
end
