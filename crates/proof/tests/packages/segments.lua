-- What seg6.eclat has the program in C know.
return {
  [1] = { source = "fc00::1", "fc00:a::" },
  [2] = { source = "fc00::1", "fc00:a::", "2001:db8:1:2:3:4:5:6" },
  [3] = { source = "2001:db8::7", "fc00:a::", "fc00:b::3", "::1" },
  [4] = { source = "::ffff:192.0.2.1", "::198.51.100.7", "fc00:e::" },
  [9] = { source = "::", "fc00:a::1", "fc00:b::2", "fc00:c::3", "fc00:d::4" },
}
