-- NPF's third experiment: segments to port 80 whose data has a text are dropped, found by segments of the packet.
local xdp = require "xdp"
local action = require "linux.xdp"
local data = require "data"

local ethernet = data.layout { type = { 96, 16 } }
local ip = data.layout { ihl = { 4, 4 }, proto = { 72, 8 } }
local tcp = data.layout {
  src_port = { 0, 16 }, dst_port = { 16, 16 }, seq_num = { 32, 32 }, ack_num = { 64, 32 }, data_offset = { 96, 4 },
  control_flags = { 103, 9 }, window_size = { 112, 16 }, checksum = { 128, 16 }, urgent = { 144, 16 },
}

xdp.attach(function(pkt)
  if pkt:layout(ethernet).type ~= 0x0800 then return action.PASS end
  local header = pkt:segment(14)
  if not header or header:layout(ip).proto ~= 6 then return action.PASS end
  local segment = header:segment(header.ihl * 4)
  if not segment then return action.PASS end
  local skipped = segment:layout(tcp).data_offset
  if not skipped or segment.dst_port ~= 80 then return action.PASS end
  local payload = segment:segment(skipped * 4)
  if payload and tostring(payload):find("MALICIOUS VALUE", 1, true) then return action.DROP end
  return action.PASS
end)
