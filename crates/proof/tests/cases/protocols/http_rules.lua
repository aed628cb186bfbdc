-- What is asked of messages, one after the other; what is looked for first is not there in all of them.
-- frames: http:curl/7.0.0 http:Mozilla tcp80:GET\s/admin?x=1\sHTTP/1.1\r\nhost:\sa\r\n\r\n tcp80:POST\s/admin\sHTTP/1.0\r\n\r\n tcp80:HTTP/1.1\s302\sFound\r\n\r\n tcp tls udp
local xdp = require "xdp"
local blocked = { ["curl/7.0.0"] = true }
local hosts = map { key = "string:64", value = "int", capacity = 16 }

xdp.attach(function(pkt)
  local http = pkt.http
  if not http then return 2 end
  if http.status then
    print("answer", http.status, http.status // 100 == 3)
    return 2
  end
  local agent, host = http.user_agent, http.host
  if host then
    hosts[host] = (hosts[host] or 0) + 1
    print(host, hosts[host])
  end
  if agent and blocked[agent] then return 1 end
  if http.path:sub(1, 6) == "/admin" and http.method ~= "GET" then return 1 end
  return 3
end)
