-- bench/lunatik/lunatik_doctor.lua, as it is.
local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
return dofile(folder .. "/lunatik.lua")(folder .. "/../lunatik/lunatik_doctor.lua")
