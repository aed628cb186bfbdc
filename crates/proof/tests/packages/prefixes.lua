-- What ip6.eclat has the program in C know.
return {
  ["::/0"] = 1,
  ["2001:db8::/32"] = 2,
  ["fc00::/16"] = 3,
  ["2001:db8::1/128"] = 4,
  ["fc00:0:0:1::/64"] = 5,
}
