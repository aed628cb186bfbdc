-- goto: continue, out of nested loops, backwards, into enclosing blocks; new variables at each pass (manual § 3.3.4).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000 hex:0700000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  for i = 1, 5 do
    if i % 2 == n % 2 then goto continue end
    print("turn", i)
    ::continue::
  end
  for i = 1, 4 do
    for j = 1, 4 do
      if i * j == n + 3 then print("out of", i, j) goto out end
    end
  end
  print("ended")
  ::out::
  do
    local i = 0
    ::again::
    i = i + 1
    if i < n then goto again end
    print("again", i)
  end
  local functions = {}
  do
    local k = 0
    ::top::
    local fresh = k
    functions[#functions + 1] = function() fresh = fresh + 1 return fresh end
    k = k + 1
    if k < 3 then goto top end
  end
  print(functions[1](), functions[1](), functions[2](), functions[3]())
  local state = n % 3
  if state == 0 then goto zero elseif state == 1 then goto one else goto other end
  ::zero:: do print "zero" goto done end
  ::one:: do print "one" goto done end
  ::other:: do print "other" end
  ::done::
  while true do
    n = n - 1
    repeat
      if n < 2 then goto finish end
      n = n - 1
    until n % 2 == 0
  end
  ::finish::
  print(n)
end)
