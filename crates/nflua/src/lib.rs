//! NFLua's states: each a Lua state that chunks are executed in, and whose functions rules of iptables ask about packets.
