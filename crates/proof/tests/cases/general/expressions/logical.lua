-- and, or, not on values of all types; what is evaluated (manual § 3.4.5).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  local maybe, flag, text = n > 2 and n or nil, n > 2, n > 2 and "" or "text"
  print(maybe and 1, maybe or 2, maybe and nil or 3, not maybe, not not maybe, maybe == nil)
  print(flag and text, flag or text, text and flag, n and 0, 0 and n, "" and n, nil and n, false or nil, nil or false)
  local calls = {}
  local function note(name, value) calls[#calls + 1] = name return value end
  local _ = note("a", maybe) and note("b", true) or note("c", false) or note("d", n)
  _ = note("e", nil) or note("f", maybe) and note("g", flag)
  print(table.concat(calls), _)
  if maybe and n > 1 or text == "text" and not flag then print "yes" else print "no" end
  while not (flag and maybe) do print "once" break end
  local x = maybe and { maybe } or { "none" }
  print(x[1], (maybe or 5) + 1, #(text or "abc"), (n > 1) == flag, n == 0 and "zero" or n == 3 and "three")
  print((nil)== false, 1 and 2 and 3, 1 and nil and 3, false or false or n, (n or error "never"))
end)
