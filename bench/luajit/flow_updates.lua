-- Functions of flows, brought by packets, in user space: `luajit flow_updates.lua INTERFACE`. The peer of `make bench-update`, after the
-- experiment of "Dynamic Data Plane Updates using Lua and libmoon" (Simon, Gallenmüller, Carle).
--
-- The packet loop is in Lua and never sleeps, as a loop over DPDK does. Frames come from a ring that the kernel shares (PACKET_RX_RING), so
-- that one costs no system call. A flow is a destination port of UDP over IPv4. What its function passes goes back to who has sent it.
--
-- Datagrams to port 9 are `PORT\nSOURCE`: they give a flow a function. Nobody signs them, there as here. Those to port 10 are answered with
-- what was counted.
local ffi = require "ffi"
local bit = require "bit"
local band, bor, lshift = bit.band, bit.bor, bit.lshift

ffi.cdef [[
  struct ring_request { unsigned block_size, blocks, frame_size, frames; };
  struct slot {
    uint32_t status, length, captured;
    uint16_t link, network;
    uint32_t seconds, nanoseconds;
    uint16_t tag, tag_protocol;
  };
  struct address { uint16_t family, protocol; int interface; uint16_t hardware; uint8_t kind, length, bytes[8]; };
  struct statistics { unsigned packets, drops; };
  struct udp { uint8_t sport[2], dport[2], length[2], checksum[2]; };
  struct packet { uint8_t *bytes; uint32_t size; struct udp *udp; };

  int socket(int family, int type, int protocol);
  int setsockopt(int fd, int level, int name, const void *value, unsigned length);
  int getsockopt(int fd, int level, int name, void *value, unsigned *length);
  int bind(int fd, const struct address *address, unsigned length);
  unsigned if_nametoindex(const char *name);
  void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset);
  long send(int fd, const void *bytes, size_t length, int flags);
  int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
  int abs(int number);
  char *strerror(int number);
]]
local C = ffi.C

local UPDATES, COUNTS = 9, 10
local HEADERS = 42
local PASS = 2
-- As many as come in a tenth of a second and more, so that what comes while a function is compiled is not lost.
local FRAMES, FRAME = 16384, 2048
-- LuaJIT makes up to a hundred branches off a trace.
local ANEW = 64

local AF_PACKET, SOCK_RAW, SOL_PACKET = 17, 3, 263
local RX_RING, STATISTICS, VERSION, BYPASS, IGNORE_OUTGOING = 5, 6, 10, 20, 23
local ALL_PROTOCOLS = 0x0300
local KERNEL, USER = 0, 1
local DONTWAIT = 0x40

local function check(result, what)
  if result < 0 then
    error(("cannot %s: %s"):format(what, ffi.string(C.strerror(ffi.errno()))), 0)
  end
  return result
end

local function set(fd, name, value, what)
  check(C.setsockopt(fd, SOL_PACKET, name, value, ffi.sizeof(value)), what)
end

-- A socket for all frames that come in at an interface, and the ring that they lie in.
local function open(interface)
  local fd = check(C.socket(AF_PACKET, SOCK_RAW, 0), "open a packet socket")
  set(fd, VERSION, ffi.new("int[1]", 1), "choose the ring's format")
  set(fd, IGNORE_OUTGOING, ffi.new("int[1]", 1), "leave out what is sent")
  set(fd, BYPASS, ffi.new("int[1]", 1), "send without a queue")
  local block = 1048576
  local request = ffi.new("struct ring_request", block, FRAMES * FRAME / block, FRAME, FRAMES)
  set(fd, RX_RING, request, "make a ring")
  -- Readable and writable, shared.
  local memory = C.mmap(nil, FRAMES * FRAME, 3, 1, fd, 0)
  if memory == ffi.cast("void *", -1) then
    error("cannot map the ring", 0)
  end
  local index = C.if_nametoindex(interface)
  local address = ffi.new("struct address", { AF_PACKET, ALL_PROTOCOLS, index })
  check(C.bind(fd, address, ffi.sizeof(address)), "bind to " .. interface)
  return fd, ffi.cast("uint8_t *", memory)
end

-- What functions are given: one object for all packets, so that none is made for each.
local methods = {}

function methods:getbyte(offset)
  if offset < 0 or offset >= self.size then
    error("out of bounds")
  end
  return self.bytes[offset]
end

ffi.metatype("struct packet", { __index = methods })
local pkt = ffi.new("struct packet")

local flows = {}
local installed, handled, drops = 0, 0, 0

local function forward()
  return PASS
end

-- Sends a frame back. The checksum that it came with may be unfinished, since a veth's frames need none: 0 says that there is none.
local function send_back(fd, bytes, size)
  for i = 0, 5 do
    bytes[i], bytes[i + 6] = bytes[i + 6], bytes[i]
  end
  for i = 26, 29 do
    bytes[i], bytes[i + 4] = bytes[i + 4], bytes[i]
  end
  for i = 34, 35 do
    bytes[i], bytes[i + 2] = bytes[i + 2], bytes[i]
  end
  bytes[40], bytes[41] = 0, 0
  C.send(fd, bytes, size, DONTWAIT)
end

local function install(bytes, size)
  local port, source = ffi.string(bytes + HEADERS, size - HEADERS):match("^(%d+)\n(.*)$")
  local chunk = port and load("return " .. source)
  local made, fn = pcall(chunk)
  if made and type(fn) == "function" then
    flows[tonumber(port)] = fn
    installed = installed + 1
    -- Machine code holds the function that it calls: each new one is a branch off the code for the one before, until LuaJIT makes no more of
    -- them and interprets, which takes several times as long. To make all code anew each time would slow the other flows down.
    if installed % ANEW == 0 then
      jit.flush()
    end
  end
end

-- Writes the counts over what the datagram holds, and sends it back.
local function tell(fd, bytes, size)
  local statistics, length = ffi.new("struct statistics"), ffi.new("unsigned[1]", 8)
  check(C.getsockopt(fd, SOL_PACKET, STATISTICS, statistics, length), "ask what the ring has dropped")
  -- The kernel begins anew each time it is asked.
  drops = drops + statistics.drops
  local text = ("%d %d %d "):format(installed, handled, drops)
  ffi.copy(bytes + HEADERS, text, math.min(#text, size - HEADERS))
  send_back(fd, bytes, size)
end

local function handle(fd, bytes, size)
  -- IPv4 without options, UDP.
  if size < HEADERS or bytes[12] ~= 8 or bytes[13] ~= 0 or bytes[14] ~= 0x45 or bytes[23] ~= 17 then
    return
  end
  local port = bor(lshift(bytes[36], 8), bytes[37])
  if port == UPDATES then
    install(bytes, size)
  elseif port == COUNTS then
    tell(fd, bytes, size)
  else
    pkt.bytes, pkt.size, pkt.udp = bytes, size, ffi.cast("struct udp *", bytes + 34)
    handled = handled + 1
    -- A function that fails drops its packet, and nothing else ends by it.
    local done, verdict = pcall(flows[port] or forward, pkt)
    if done and verdict == PASS then
      send_back(fd, bytes, size)
    end
  end
end

local function loop(fd, ring)
  local at = 0
  while true do
    local slot = ffi.cast("struct slot *", ring + at * FRAME)
    if band(slot.status, USER) == 0 then
      -- LuaJIT takes a word of memory to stay as it is in a loop that calls nothing of C.
      C.abs(0)
    else
      handle(fd, ffi.cast("uint8_t *", slot) + slot.link, slot.captured)
      slot.status = KERNEL
      at = band(at + 1, FRAMES - 1)
    end
  end
end

-- Ends with the process that has started this (PR_SET_PDEATHSIG, SIGKILL): a loop that never sleeps must not stay behind.
C.prctl(1, 9, 0, 0, 0)
local fd, ring = open(assert(arg[1], "no interface"))
print("ready")
io.flush()
loop(fd, ring)
