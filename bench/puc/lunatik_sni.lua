-- bench/lunatik/lunatik_sni.lua, as it is.
local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
return dofile(folder .. "/lunatik.lua")(folder .. "/../lunatik/lunatik_sni.lua")
