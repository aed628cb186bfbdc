-- Every field of `pkt.http` on frames of every kind, on messages that are nearly one, and on every prefix of some.
-- frames: all http:curl/7.0.0 http: http:\s\x09a\sb\x09 tcp80:GET\s/\sHTTP/1.1\n tcp80:GET\s/\sHTTP/1.1\r\n\r\n tcp80:GET\s/\sHTTP/1.1 tcp80:A\s/\sHTTP/1.1\n
-- frames: tcp80:A\s\sHTTP/1.1\n\n tcp80:A\s\s\sHTTP/1.1\n\n tcp80:\s/\sHTTP/1.1\n\n tcp80:GET\s/a\sb\sHTTP/1.0\r\n tcp80:get\s/\sHTTP/1.1\r\n tcp80:GET\s/\sHTTP/2.0\r\n
-- frames: tcp80:GET\s/\sHTTP/1.x\r\n tcp80:GET\s/\sHTTP/1.1\s\r\n tcp80:GET\s/\sHTTP/1.1\r\r\n tcp80:VERSION-CONTROL\s*\sHTTP/1.9\n tcp80:GET/HTTP/1.1\r\n
-- frames: tcp80:XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX\s/\sHTTP/1.1\n tcp80:XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX\s/\sHTTP/1.1\n tcp80:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA tcp80:GET\s/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\sHTTP/1.1\n
-- frames: tcp80:HTTP/1.1\s200\sOK\r\nServer:\sx\r\nHost:\sy\r\n\r\n tcp80:HTTP/1.0\s404\n\n tcp80:HTTP/1.1\s20x\n\n tcp80:HTTP/1.1\s999 tcp80:HTTP/1.1x200\sOK\n tcp80:HTTP/1.1\s2000\n
-- frames: tcp80:HTTP/2\s200\sOK\r\n tcp80:HTTP/1.a\s200\sOK\r\n udp:GET\s/\sHTTP/1.1\r\n\r\n
-- frames: tcp80:GET\s/a\sHTTP/1.1\r\nHOST:a.example\r\nuser-AGENT:\sx\sy\s\r\n\r\n tcp80:GET\s/a\sHTTP/1.1\r\nHosts:a\r\nHos:b\r\nHost\s:c\r\nhost:d\r\nHost:e\r\n\r\n
-- frames: tcp80:GET\s/a\sHTTP/1.1\r\nHost:\s\s\r\nUser-Agent:\r\n\r\n tcp80:GET\s/a\sHTTP/1.1\r\nHost:\s\s\nUser-Agent:\n\n tcp80:GET\s/a\sHTTP/1.1\r\n\r\nHost:a\r\n tcp80:GET\s/a\sHTTP/1.1\r\n\nHost:a\r\n tcp80:GET\s/a\sHTTP/1.1\r\nHost:a tcp80:GET\s/a\sHTTP/1.1\r\nHost:a\r
-- frames: tcp80:GET\s/a\sHTTP/1.1\r\nHost:a\r\s\r\nUser\x0dAgent:x\r\nUser-Agent:\r\r\n tcp80:GET\s/a\sHTTP/1.1\r\nX:\sy\r\n\sHost:no\r\nhOsT:\x09yes\x09\x09\r\n tcp80:GET\s/a\sHTTP/1.1\r\nHost:\s\s\s
-- frames: tcp80:GET\s/a\sHTTP/1.1\r\nH\x4fst\x1aa\r\nHost:b\r\n tcp80:GET\s/a\sHTTP/1.1\r\nx\n\x0b\n\x8a\nhost:c\n truncated:http:x truncated:tcp80:HTTP/1.1\s200\sOK\r\nHost:\sy\r\n
local xdp = require "xdp"
xdp.attach(function(pkt)
  local http = pkt.http
  if not http then
    print "none"
    return 1
  end
  print(http.method, http.path, http.version, http.status)
  print(http.host, http.user_agent)
end)
