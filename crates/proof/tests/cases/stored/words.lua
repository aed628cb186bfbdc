-- Counting by words of the packet, and finding the most frequent.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday\sthe\sreport\sof\sthe\sreport\sa\sverylongwordindeed\sverylongwordindeed\sverylongwordindeee eth:a,b,,c,a,a,b eth:aaaaaaaa\sbbbbbbbbb\saaaaaaaa\sbbbbbbbbb\saaaaaaa
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local counts, total = {}, 0
  for word in text:gmatch("%w+") do
    counts[word] = (counts[word] or 0) + 1
    total = total + 1
  end
  local most, times, different = "", 0, 0
  for word, count in pairs(counts) do
    different = different + 1
    if count > times or count == times and word < most then most, times = word, count end
  end
  print(most, times, different, total)
  print(counts["the"], counts.verylongwordindeed, counts[""], counts[1], counts.missing)
end)
