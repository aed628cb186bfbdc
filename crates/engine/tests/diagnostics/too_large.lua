local xdp = require "xdp"

local function f0(pkt, n) return pkt:getbyte(n) + n end
local function f1(pkt, n) return f0(pkt, n) + f0(pkt, n + 1) end
local function f2(pkt, n) return f1(pkt, n) + f1(pkt, n + 1) end
local function f3(pkt, n) return f2(pkt, n) + f2(pkt, n + 1) end
local function f4(pkt, n) return f3(pkt, n) + f3(pkt, n + 1) end
local function f5(pkt, n) return f4(pkt, n) + f4(pkt, n + 1) end
local function f6(pkt, n) return f5(pkt, n) + f5(pkt, n + 1) end
local function f7(pkt, n) return f6(pkt, n) + f6(pkt, n + 1) end
local function f8(pkt, n) return f7(pkt, n) + f7(pkt, n + 1) end
local function f9(pkt, n) return f8(pkt, n) + f8(pkt, n + 1) end
local function f10(pkt, n) return f9(pkt, n) + f9(pkt, n + 1) end
local function f11(pkt, n) return f10(pkt, n) + f10(pkt, n + 1) end
local function f12(pkt, n) return f11(pkt, n) + f11(pkt, n + 1) end
local function f13(pkt, n) return f12(pkt, n) + f12(pkt, n + 1) end
local function f14(pkt, n) return f13(pkt, n) + f13(pkt, n + 1) end
local function f15(pkt, n) return f14(pkt, n) + f14(pkt, n + 1) end
local function f16(pkt, n) return f15(pkt, n) + f15(pkt, n + 1) end
local function f17(pkt, n) return f16(pkt, n) + f16(pkt, n + 1) end
local function f18(pkt, n) return f17(pkt, n) + f17(pkt, n + 1) end
local function f19(pkt, n) return f18(pkt, n) + f18(pkt, n + 1) end
local function f20(pkt, n) return f19(pkt, n) + f19(pkt, n + 1) end
local function f21(pkt, n) return f20(pkt, n) + f20(pkt, n + 1) end
local function f22(pkt, n) return f21(pkt, n) + f21(pkt, n + 1) end
local function f23(pkt, n) return f22(pkt, n) + f22(pkt, n + 1) end
local function f24(pkt, n) return f23(pkt, n) + f23(pkt, n + 1) end
xdp.attach(function(pkt)
  if f24(pkt, #pkt) > 0 then return 1 end
end)
