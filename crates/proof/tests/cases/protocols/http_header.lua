-- Fields of messages by name: known ones, names out of the message, names that are none; and what is no message.
-- frames: http:curl tcp80:GET\s/\sHTTP/1.1\r\nX-Forwarded-For:\s10.0.0.1,\s::1\r\nX:y\r\n:empty\r\nA:b:c\r\n\r\nLate:\sx\r\n tcp80:HTTP/1.1\s200\sOK\r\nSERVER:\sa\sb\r\nx-forwarded-for:c\r\n\r\n
-- frames: tcp80:X-FORWARDED-FOR\s/X\sHTTP/1.1\r\nx:1\r\nX-Forwarded-For:2\r\n\r\n tcp80:A\s/A\sHTTP/1.1\r\na:\r\n\r\n tcp80:GET\s/A:B\sHTTP/1.1\r\na:b:c\r\n\r\n tcp udp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local http = pkt.http
  if not http then return 1 end
  print(http:header "x-forwarded-for", http:header "Server", http:header "", http:header "late", http:header "A:b")
  print(http:header "Host" == http.host, http:header("User-Agent"), http:header(1), http:header "a")
  local path, method = http.path, http.method
  if path then print(http:header(method), http:header(path:sub(2)), http:header(path)) end
end)
