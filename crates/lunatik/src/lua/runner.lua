-- Scripts by name, which any state can run and stop. Who runs stands in three tables that all states have in common: threads and runtimes by the script's
-- name, and runtimes of one processor by that, a colon and the processor's number.
local lunatik, thread, rcu, linux = require("lunatik"), require("thread"), require("rcu"), require("linux")
local shared = lunatik._ENV

local runner = {}

-- A script's name, of a file's or of itself.
local function named(script)
  if script:sub(-4) == ".lua" then return script:sub(1, -5) end
  return script
end

-- The keys of a script's runtimes of all processors.
local function of_processors(script)
  local keys = {}
  for number = 1, linux.numcpus() do keys[number] = ("%s:%d"):format(script, number - 1) end
  return keys
end

local function end_entry(entries, key)
  -- When all scripts end, who runs is forgotten before the last finalizers are called.
  local running = entries and entries[key]
  if running then
    running:stop()
    entries[key] = nil
  end
end

local function refuse_twice(script)
  if shared.runtimes[script] or shared.percpu[script .. ":0"] then error(script .. " is already running") end
end

function runner.startup()
  shared.runtimes = shared.runtimes or rcu.table()
  shared.percpu = shared.percpu or rcu.table()
  shared.threads = shared.threads or rcu.table()
end

function runner.run(file, context, on_all)
  local script = named(file)
  refuse_twice(script)
  if not on_all then
    shared.runtimes[script] = lunatik.runtime(script, context)
    return shared.runtimes[script]
  end
  for _, key in ipairs(of_processors(script)) do
    local is_up, made = pcall(lunatik.runtime, script, context)
    if is_up then
      shared.percpu[key] = made
    else
      -- All of them, or none.
      runner.stop(script)
      error(made, 0)
    end
  end
end

function runner.spawn(file, context, on_all)
  if on_all then error("spawn does not support percpu scripts") end
  local script, runtime = named(file), runner.run(file, context)
  -- The last two parts of its path.
  shared.threads[script] = thread.run(runtime, script:match("[^/]*/?[^/]*$"))
  return shared.threads[script]
end

function runner.stop(file)
  local script = named(file)
  end_entry(shared.threads, script)
  end_entry(shared.runtimes, script)
  for _, key in ipairs(of_processors(script)) do end_entry(shared.percpu, key) end
end

-- Each script that runs, once.
local function running()
  local scripts = {}
  local function add(script) scripts[#scripts + 1] = script end
  rcu.map(shared.runtimes, add)
  rcu.map(shared.percpu, function(key)
    local script, number = key:match("(.*):(%d+)")
    if number == "0" then add(script) end
  end)
  return scripts
end

function runner.list() return table.concat(running(), ", ") end

function runner.shutdown()
  for _, script in ipairs(running()) do runner.stop(script) end
end

runner.startup()

return runner
