-- bench/scripts/words.lua, as it is.
local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
return dofile(folder .. "/script.lua")(folder .. "/../scripts/words.lua")
