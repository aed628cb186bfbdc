-- Runs files of NFLua's tests case by case: `lua cases.lua FILE…`, in the folder of its checkout. A case that fails does not end the
-- file; each prints a line. What is in the environment as CASES, a pattern, chooses by name.
local driver = require "tests.driver"
local network = require "tests.network"
local chosen = os.getenv "CASES" or ""
local whole = driver.test

local function short(message)
    return (tostring(message):gsub("\nstack traceback.*", ""):gsub("%s+", " "))
end

function driver.test(name, ...)
    if not name:find(chosen) then return end
    local print = print
    _G.print = function() end
    local ok, message = pcall(whole, name, ...)
    _G.print = print
    if not ok then
        -- What it has left is removed, and the next one begins with a module that has no states.
        collectgarbage()
        network.cleanup()
        os.execute "nflua-again"
    end
    io.stdout:write(ok and "ok      " or "FAILED  ", name, ok and "" or ": " .. short(message), "\n")
    io.stdout:flush()
end

for _, file in ipairs(arg) do
    local ok, message = pcall(dofile, file)
    if not ok then print("FAILED  " .. file .. ": " .. short(message)) end
end
