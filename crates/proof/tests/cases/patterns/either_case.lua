-- Letters in either case, alone and within text; `.-` up to blanks before something.
-- frames: udp:GET\s/\r\nuser-AGENT:\s\tCurl/8\s\s\t\r\n\r\n udp:\nUSER-agent:\s\s\n udp:\nUser-Agent:x\s\r\sy\s\r\r\n udp:\nUser-Agent: udp-empty tcp
-- frames: udp:aaaa\nUsEr-AgEnTuser-agent\s\nUser-Agent:one\stwo\s\sthree\n udp:`@[]{}\x55\x75\xd5\xf5 udp:\sx\s\s,\sy\s,z
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload or pkt:getstring(14)
  print(s:match "\n[Uu][Ss][Ee][Rr]%-[Aa][Gg][Ee][Nn][Tt]:[ \t]*(.-)[ \t]*\r?\n")
  print(s:find "[uU]", s:find "[Uu][sS]", s:match "[uU]ser%-()[aA]", s:match "[@`]+", s:match "[uU]+", s:match "[^uU]+")
  print(s:match "(.-)[ \t]*\r?\n", s:match "^(.-) *,", s:match "^ *(.-) *, *(.-) *,", s:match "(.-)%s*$", s:match "x(.-) *()y")
  print(s:match "((.-)) *\n", s:match "(a.-)[ a]*(\n[Uu])", s:match "(.-)[ ]*%f[%d]%d", s:match "(o.-)[ ]*(t)%2", s:match "(.-)b*[a-z]")
  print(s:find "[Gg][Ee][Tt] /", s:find "[zZ]", s:gsub("[uU]ser", "U"))
  for word in s:gmatch "([aA][%w%-]*)[ \t]*:?" do print(word) end
end)
