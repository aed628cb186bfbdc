-- Runs files of NFLua's tests case by case: `lua cases.lua FILE…`, in the folder of its checkout. A case that fails does not end the
-- file; each prints a line. What is in the environment as CASES, a pattern, chooses by name.
local driver = require "tests.driver"
local network = require "tests.network"
local socket = require "socket"
local chosen = os.getenv "CASES" or ""
local whole = driver.test

-- Cases that subtract what is after the second of two times, which is right within one second only.
local within_a_second = { ["timer create single"] = true }

-- Gives a second of which eight tenths are left.
local function wait_for_a_second()
    local part = socket.gettime() % 1
    if part > 0.2 then socket.sleep(1 - part) end
end

local function short(message)
    return (tostring(message):gsub("\nstack traceback.*", ""):gsub("%s+", " "))
end

function driver.test(name, ...)
    if not name:find(chosen) then return end
    if within_a_second[name] then wait_for_a_second() end
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
