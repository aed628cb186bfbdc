-- A list of names looked for in a text that a pattern found.
-- frames: http:curl http:Mozilla http:Nikto tcp udp
local xdp = require "xdp"
local bad = { "curl", "wget", "python-requests", "sqlmap", "nikto", "masscan", "zgrab", "nmap", "go-http-client", "libwww-perl" }
xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp then return end
  local ua = (pkt.payload or ""):match("User%-Agent: ([^\r\n]*)")
  if not ua then return end
  for _, name in ipairs(bad) do
    if ua:lower():find(name, 1, true) then print("bad", name) return 1 end
  end
  print("good", ua)
end)
