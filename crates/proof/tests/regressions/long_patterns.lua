-- frames: tcp udp arp udp-empty
-- Patterns with more items than expanded code has code for: classes one after another, repetitions, captures, text in between.
local xdp = require "xdp"
local classes = ("[%l ,]"):rep(300)
local optional = ("%d?"):rep(300) .. "h"
local mixed = ("he%l"):rep(2000)
local captures = ("()"):rep(31) .. "(%l)" .. ("%d?"):rep(140)

xdp.attach(function(pkt)
  local text = pkt.payload or "hello, world"
  local long = text:rep(30)
  print(#text, text:find(classes), long:find(classes))
  print(long:find(optional), text:find(mixed))
  print(text:match(captures))
  for word in long:gmatch(("%d?"):rep(150) .. "%l+") do
    print(word)
    break
  end
  print((long:gsub(("%u?"):rep(150) .. "o", "<%0>", 3)))
end)
