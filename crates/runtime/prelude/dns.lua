-- Answers to questions.

function dns.answer(...)
  local packet, fields = ...
  if type(fields) ~= "table" then
    prim.dns_check(packet)
    prim.bad_type(2, "table", fields)
  end
  prim.dns_answer(packet, fields.address, fields.ttl, fields.rcode)
  prim.dns_turn(packet)
  prim.dns_checksums(packet)
  return prim.dns_verdict(packet)
end
