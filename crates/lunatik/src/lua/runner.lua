-- Scripts by name, which any state can run and stop: they stand in tables that all states have in common.
local lunatik, thread, rcu, linux = require("lunatik"), require("thread"), require("rcu"), require("linux")
local common = lunatik._ENV

local runner = {}

local function without_suffix(script)
  return (script:gsub("(%w+)%.lua", "%1"))
end

local function on_processor(script, number)
  return script .. ":" .. number
end

local function stop(all, script)
  local item = all[script]
  if item then
    item:stop()
    all[script] = nil
  end
end

local function stop_on_all(script)
  for number = 0, linux.numcpus() - 1 do
    stop(common.percpu, on_processor(script, number))
  end
end

local function run_on_all(script, context)
  for number = 0, linux.numcpus() - 1 do
    local started, runtime = pcall(lunatik.runtime, script, context)
    if not started then
      stop_on_all(script)
      error(runtime, 0)
    end
    common.percpu[on_processor(script, number)] = runtime
  end
end

function runner.startup()
  for _, name in ipairs{ "runtimes", "percpu", "threads" } do
    if not common[name] then common[name] = rcu.table() end
  end
end

function runner.run(script, context, percpu)
  script = without_suffix(script)
  if common.runtimes[script] or common.percpu[on_processor(script, 0)] then
    error(string.format("%s is already running", script))
  end
  if percpu then return run_on_all(script, context) end
  local runtime = lunatik.runtime(script, context)
  common.runtimes[script] = runtime
  return runtime
end

function runner.spawn(script, context, percpu)
  if percpu then error("spawn does not support percpu scripts") end
  local runtime = runner.run(script, context)
  script = without_suffix(script)
  local new = thread.run(runtime, string.match(script, "(%w*/*%w*)$"))
  common.threads[script] = new
  return new
end

function runner.stop(script)
  script = without_suffix(script)
  stop(common.threads, script)
  stop(common.runtimes, script)
  stop_on_all(script)
end

local function names()
  local found = {}
  rcu.map(common.percpu, function(key) found[#found + 1] = string.match(key, "^(.+):0$") end)
  rcu.map(common.runtimes, function(key) found[#found + 1] = key end)
  return found
end

function runner.list() return table.concat(names(), ", ") end

function runner.shutdown()
  for _, script in ipairs(names()) do runner.stop(script) end
end

runner.startup()

return runner
