-- A script that Moonhook compiles, as it is: its path is the argument.
local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
return dofile(folder .. "/script.lua")(...)
