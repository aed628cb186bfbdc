-- What is no name, and what is no message; a message that a write has made disappear.
-- frames: http:curl tcp80:GET\s/\sHTTP/1.1\r\nHost:\sx\r\n\r\n tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local http = pkt.http
  if not http then return 1 end
  local header = http.header
  print(pcall(function() local result = http:header() return result end))
  print(pcall(function() local result = http:header(pkt) return result end))
  print(pcall(function() local result = header(pkt, "host") return result end))
  print(pcall(function() local result = header(pkt.tcp, "host") return result end))
  print(pcall(function() local result = header() return result end))
  print(pcall(function() return http.headers end))
  print(pcall(function() return pkt.tcp.header end))
  print(pcall(function() http.header = 1 end))
  print(header == pkt.http.header, type(header), header(http, "host"))
  if pkt.eth then
    pkt:setuint8(#pkt - 1, 65)
    print(http:header "host")
    pkt:setuint8(54, 1)
    print(http:header "host", http.host, http.method)
  end
end)
