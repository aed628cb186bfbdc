-- Where system calls are, by name: what `syscall.address` gives for each number.
local syscall, names = require("syscall"), require("linux.syscall")
local places = {}
for name in pairs(names.numbers) do places[name] = syscall.address(names.numbers[name]) end
return places
