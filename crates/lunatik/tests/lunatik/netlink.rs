//! Requests by netlink, in a network namespace of each test's own; without root, those that need one say so and pass.

use crate::place::{Place, skip};
use nix::sched::{CloneFlags, unshare};

/// A place in a network namespace of its own, with the loopback interface alone.
fn place() -> Option<Place> {
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        skip(&format!("network namespaces cannot be made: {error}"));
        return None;
    }
    Some(Place::new())
}

#[test]
fn links_come_up_and_go_down() {
    let Some(place) = place() else { return };
    let lines = place.run(
        "local netlink, iff = require('netlink'), require('linux.rtnetlink').iff
         local link <close> = netlink.rt.link()
         local function show() for _, it in ipairs(link:list()) do print(it.name, it.ifindex, it.mtu, it.flags & iff.UP) end end
         show()
         link:set{ifindex = 1, up = true} show()
         for _, it in ipairs(netlink.rt.addr():list(require('linux.socket').af.INET)) do
           print(it.ifindex, it.label, it.prefix_len, it.address:byte(1, -1)) end
         link:set{ifindex = 1} show()
         print(pcall(link.set, link, {ifindex = 77, up = true}))
         print(select(2, pcall(link.set, link, {up = true})):match('bad argument.*'))",
    );
    assert_eq!(
        lines,
        [
            "lo\t1\t65536\t0",
            "lo\t1\t65536\t1",
            "1\tlo\t8\t127\t0\t0\t1",
            "lo\t1\t65536\t0",
            "false\tENODEV",
            "bad argument #3 to 'pack' (number expected, got nil)",
        ]
    );
}

#[test]
fn routes_and_rules_are_added_and_removed() {
    let Some(place) = place() else { return };
    let lines = place.run(
        "local netlink, IPV4 = require('netlink'), require('linux.socket').af.INET
         netlink.rt.link():set{ifindex = 1, up = true}
         local route <close> = netlink.rt.route()
         local rule <close> = netlink.rt.rule()
         for _, number in ipairs{7, 255, 256, 1000} do
           local one = {dst = '\\192\\0\\2\\0', dst_len = 24, oif = 1, table = number, scope = 253}
           local function count(n)
             for _, it in ipairs(route:list(IPV4)) do
               if it.table == number and it.dst == one.dst and it.oif == 1 then n = n + it.dst_len end
             end
             return n
           end
           route:add(one)
           print(number, count(0), pcall(route.add, route, one))
           route:del(one)
           print(count(0), pcall(route.del, route, one))
         end
         for _, number in ipairs{100, 1000} do
           local one = {table = number, priority = 32100, fwmark = 5, protocol = 4}
           local function find()
             for _, it in ipairs(rule:list(IPV4)) do if it.priority == 32100 then return it.table, it.fwmark, it.action end end
           end
           rule:add(one)
           print(find())
           print(pcall(rule.add, rule, one))
           rule:del(one)
           print(find(), pcall(rule.del, rule, one))
         end",
    );
    assert_eq!(
        lines,
        [
            "7\t24\tfalse\tEEXIST",
            "0\tfalse\tESRCH",
            "255\t24\tfalse\tEEXIST",
            "0\tfalse\tESRCH",
            "256\t24\tfalse\tEEXIST",
            "0\tfalse\tESRCH",
            "1000\t24\tfalse\tEEXIST",
            "0\tfalse\tESRCH",
            "100\t5\t1",
            "false\tEEXIST",
            "nil\tfalse\tENOENT",
            "1000\t5\t1",
            "false\tEEXIST",
            "nil\tfalse\tENOENT",
        ]
    );
}

#[test]
fn families_are_found_by_name() {
    let place = Place::new();
    let lines = place.run(
        "local netlink, message, control = require('netlink'), require('netlink.message'), require('linux.genl')
         local genl <close> = netlink.genl()
         print(genl:family('nlctrl') == control.id.CTRL, pcall(genl.family, genl, 'no such'))
         local again = genl:call(control.id.CTRL, control.cmd.GETFAMILY, 0, message.attrs{[control.attr.FAMILY_ID] = '\\16\\0'})
         print(#again, message.str(again[1].attrs[control.attr.FAMILY_NAME]))
         local names = {}
         for _, it in ipairs(genl:dump(control.id.CTRL, control.cmd.GETFAMILY)) do names[message.str(it.attrs[control.attr.FAMILY_NAME])] = true end
         print(names.nlctrl)
         print(pcall(netlink.nl80211.wiphy) or 'no such family')",
    );
    assert_eq!(lines[..3], ["true\tfalse\tENOENT", "1\tnlctrl", "true"]);
}

#[test]
fn messages_are_read_as_far_as_they_are_whole() {
    let place = Place::new();
    let lines = place.run(
        "local message = require('netlink.message')
         local payload = message.attrs{[4] = 0x01020304, [3] = 'eth0\\0'}
         local one = message.encode(16, 5, 1, payload)
         local found = message.parse(one .. one)
         print(#payload, #one, #found, found[2].type, found[2].flags, found[2].body == payload)
         local attributes = message.attrs(payload, 1)
         print(message.u32(attributes[4]), message.str(attributes[3]), message.u32(nil), message.str(nil))
         for length = 0, #one - 1 do
           assert(#message.parse(one:sub(1, length)) == 0)
           message.attrs(payload:sub(1, length), 1)
         end
         -- Lengths that are too small, or 0, do not go on for ever.
         print(#message.parse(('\\0'):rep(64)), #message.parse('\\255\\255\\255\\255' .. ('x'):rep(64)), next(message.attrs(('\\0'):rep(9), 1)))
         print(message.attrs{} == '', pcall(message.attrs, {[4] = -1}) , pcall(message.attrs, {[4] = 1 << 32}))",
    );
    assert_eq!(lines[0], "20\t36\t2\t16\t5\ttrue");
    assert_eq!(lines[1], "16909060\teth0\tnil\tnil");
    assert_eq!(lines[2], "0\t0\tnil");
    assert!(lines[3].starts_with("true\tfalse\t"), "{lines:?}");
}

#[test]
fn answers_end_where_they_do() {
    let place = Place::new();
    let lines = place.run(
        "local session, message, nl = require('netlink.session'), require('netlink.message'), require('linux.netlink')
         local function over(...)
           local parts, at = {...}, 0
           local function receive() at = at + 1 return parts[at] or '' end
           return session:new{sequence = 0, socket = {send = function() end, receive = receive}}
         end
         local function failure(number) return message.encode(nl.type.ERROR, 0, 1, string.pack('=i4', number) .. ('\\0'):rep(16)) end
         print(#over(''):dump(16, ''), #over(message.encode(16, nl.flag.MULTI, 1, 'data')):dump(16, ''))
         print(#over(message.encode(16, 0, 1, 'data'), failure(0)):talk(16, nil, ''))
         local failing = over(failure(-2))
         print(pcall(failing.talk, failing, 16, nil, ''))
         failing = over(message.encode(16, nl.flag.MULTI, 1, 'data') .. failure(-1))
         print(pcall(failing.dump, failing, 16, ''))",
    );
    assert_eq!(lines, ["0\t1", "2", "false\tENOENT", "false\tEPERM"]);
}

#[test]
fn families_of_ones_own_are_refused() {
    let place = Place::new();
    let new = "require('netlink').channel";
    for (code, expected) in [
        ("()", "test:1: bad argument #1 to 'new' (string expected, got no value)"),
        ("('')", "test:1: bad argument #1 to 'new' (invalid family name length)"),
        ("('0123456789abcdef')", "test:1: bad argument #1 to 'new' (invalid family name length)"),
    ] {
        assert_eq!(place.error(&format!("{new}{code}")), expected);
    }
    let error = place.error(&format!("{new}('mine')"));
    assert!(error.starts_with("test:1: a process cannot register the family 'mine'"), "{error}");
    assert!(error.contains("\nhelp: "), "{error}");
}
