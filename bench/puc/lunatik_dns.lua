-- bench/lunatik/lunatik_dns.lua, as it is.
local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
return dofile(folder .. "/lunatik.lua")(folder .. "/../lunatik/lunatik_dns.lua")
