-- Families of generic netlink that a script serves: the kernel lets modules have those, and no process.
local LONGEST = 15

local channel = {}

function channel.new(name)
  if type(name) ~= "string" and type(name) ~= "number" then
    error(("bad argument #1 to 'new' (string expected, got %s)"):format(name == nil and "no value" or type(name)), 2)
  end
  if #tostring(name) == 0 or #tostring(name) > LONGEST then
    error("bad argument #1 to 'new' (invalid family name length)", 2)
  end
  error(("a process cannot register the family '%s' of generic netlink\nhelp: send what others are to hear by a socket, "
    .. "`require(\"socket.unix\").dgram(path)`"):format(name), 2)
end

return channel
