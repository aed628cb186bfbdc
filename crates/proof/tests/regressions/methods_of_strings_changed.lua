-- The string library as load time has changed it: other functions, more of them, fewer.
-- frames: tcp short
local xdp = require "xdp"
local length = string.len
function string.len(s) return length(s) + 100 end
function string.trim(s) return s:match("^%s*(.-)%s*$") end
string.upper = string.lower
string.reverse = nil
xdp.attach(function(pkt)
  local s = " aB "
  return s:len() == 104 and s:trim() == "aB" and s:upper() == " ab " and ("x")["l" .. "en"]("x") == 101 and 1 or 2
end)
xdp.attach(function(pkt)
  print(("abc"):len(), #"abc", ("a"):reverse())
end)
