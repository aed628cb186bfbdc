-- Whether what runs is packet code: gives what says so, and what sets it. In a snapshot that is made while it is set, it is a constant.

local is_packet_time = false

return function() return is_packet_time end, function(is) is_packet_time = is end
