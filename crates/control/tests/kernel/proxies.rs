//! Tables that became maps, from Lua.

use crate::support::{control, expect, kernel, one_table, record, run, schema, text};
use moonhook_schema::{Datum, Schema, Type, WhenFull};
use std::time::{Duration, Instant};

#[test]
fn entries_are_read_and_assigned_with_table_syntax() {
    if !kernel() {
        return;
    }
    let mut state = one_table(schema(text(8), Type::Integer));
    expect(
        &mut state,
        &[
            ("t.old", "nil"),
            ("t.a", "nil"),
            ("t.a, t.b = 1, 2", ""),
            ("t.a, t['b'], t.c", "1 2 nil"),
            ("t.a = t.a + 41", ""),
            ("t.a", "42"),
            ("t.a = nil", ""),
            ("t.a, t.b", "nil 2"),
            ("t.c = nil", ""),
            ("t.f = 3.0", ""),
            ("t.f", "3"),
            ("next(t) ~= nil, #t, rawlen(t)", "true 0 0"),
            ("getmetatable(t)", "false"),
            // What cannot be in the table is not.
            ("t[1], t[{}], t.much_too_long_a_key, t[print]", "nil nil nil nil"),
            ("t.much_too_long_a_key = nil", ""),
        ],
    );
}

#[test]
fn what_does_not_fit_is_an_error_at_the_line_of_the_script() {
    if !kernel() {
        return;
    }
    let mut state = one_table(Schema { capacity: 2, ..schema(text(4), Type::Integer) });
    expect(
        &mut state,
        &[
            ("t.abcde = 1", "exec:1: bad key for table 't' (the string has 5 bytes, the table takes 4)"),
            ("t[1] = 1", "exec:1: bad key for table 't' (string expected, got number)"),
            ("t[nil] = 1", "exec:1: table index is nil"),
            ("t.a = 'x'", "exec:1: bad value for table 't' (integer expected, got string)"),
            ("t.a = 1.5", "exec:1: bad value for table 't' (integer expected, got float)"),
            (
                "t.a = print",
                "exec:1: bad value for table 't' (numbers, strings, booleans and records of them can be kept, not a function value)",
            ),
            (
                "\n\nt.a = t",
                "exec:3: bad value for table 't' (numbers, strings, booleans and records of them can be kept, not another shared table)",
            ),
            ("local u = setmetatable(t, {})", "exec:1: cannot change a protected metatable"),
            ("t.a = 1; t.b = 2; t.c = 3", "exec:1: table 't' is full"),
            ("t.a, t.b, t.c", "1 2 nil"),
            ("pcall(function() t.c = 1 end)", "false exec:1: table 't' is full"),
        ],
    );
}

#[test]
fn keys_that_are_records_show_their_fields() {
    if !kernel() {
        return;
    }
    let key = record(&[("addr", Type::Address), ("port", Type::Integer)]);
    let mut state = one_table(schema(key, Type::Integer));
    expect(
        &mut state,
        &[
            ("t[{addr = '192.0.2.7', port = 53}] = 4", ""),
            ("next(t)", "{addr = \"192.0.2.7\", port = 53} 4"),
            ("local k = next(t); return k.addr, k.port, t[k], getmetatable(k)", "192.0.2.7 53 4 false"),
            (
                "local k = next(t); k.port = 80; k.x = print; return tostring(k), t[k]",
                "{addr = \"192.0.2.7\", port = 80, x = nil} nil",
            ),
            ("for k in pairs(t) do t[k] = nil end; return next(t)", "nil"),
        ],
    );
}

#[test]
fn records_are_proxies_of_their_fields() {
    if !kernel() {
        return;
    }
    let value = record(&[
        ("bytes", Type::Integer),
        ("from", record(&[("ip", Type::Address), ("port", Type::Integer)])),
        ("seen", Type::Boolean),
    ]);
    let mut state = one_table(schema(Type::Ipv4, value));
    expect(
        &mut state,
        &[
            ("t['10.0.0.1'] = {bytes = 1, from = {ip = '::1', port = 53}}", ""),
            ("t['10.0.0.1']", "{bytes = 1, from = {ip = \"::1\", port = 53}}"),
            (
                "local r = t['10.0.0.1']; return r.bytes, r.seen, r.from.ip, r.from.port, r.absent",
                "1 nil ::1 53 nil",
            ),
            ("t['10.0.0.1'].bytes = 7", ""),
            ("t['10.0.0.1'].seen = false", ""),
            ("t['10.0.0.1'].from.port = nil", ""),
            ("t['10.0.0.1']", "{bytes = 7, from = {ip = \"::1\"}, seen = false}"),
            (
                "local s = ''; for k, v in pairs(t['10.0.0.1']) do s = s .. k .. ' ' end; return s",
                "bytes from seen ",
            ),
            (
                "local s = ''; for k, v in next, t['10.0.0.1'] do s = s .. k .. ' ' end; return s",
                "bytes from seen ",
            ),
            ("t['10.0.0.1'] == t['10.0.0.1'], t['10.0.0.1'] == {}", "true false"),
            ("t['10.0.0.2'] = t['10.0.0.1']", ""),
            ("t['10.0.0.2'].from = {port = 1}", ""),
            ("t['10.0.0.2'].from, t['10.0.0.1'].from", "{port = 1} {ip = \"::1\"}"),
            ("t['10.0.0.2'].from = nil", ""),
            ("t['10.0.0.2'].from", "nil"),
            (
                "t['10.0.0.1'].typo = 1",
                "exec:1: bad value for table 't' (there is no field 'typo' in the table's value)",
            ),
            ("t['10.0.0.1'].bytes = 'x'", "exec:1: bad value for table 't' (integer expected, got string)"),
            (
                "t['10.0.0.1'] = {typo = 1}",
                "exec:1: bad value for table 't' (there is no field 'typo' in the table's value)",
            ),
            ("local r = t['10.0.0.1']; t['10.0.0.1'] = nil; return r.bytes, next(r)", "nil nil"),
            (
                "local r = t['10.0.0.2']; t['10.0.0.2'] = nil; r.bytes = 1",
                "exec:1: the entry of table 't' is gone",
            ),
        ],
    );
}

#[test]
fn lists_are_proxies_of_their_places() {
    if !kernel() {
        return;
    }
    let inner = record(&[("1", text(4)), ("2", text(4))]);
    let places: Vec<String> = (1..=12).map(|place: i64| place.to_string()).collect();
    let mut fields: Vec<(&str, Type)> = places.iter().map(|name| (name.as_str(), Type::Integer)).collect();
    fields.push(("names", inner));
    fields.sort_by_key(|(name, _)| *name);
    let mut state = one_table(schema(Type::Integer, record(&fields)));
    expect(
        &mut state,
        &[
            ("t[1] = {1, 2, 3, [12] = 12, names = {'a', 'b'}}", ""),
            ("t[1]", "{1, 2, 3, [12] = 12, names = {\"a\", \"b\"}}"),
            ("#t[1], #t[1].names, #t[2 - 1]", "3 2 3"),
            ("t[1][1], t[1][4], t[1][0], t[1]['1'], t[1][2.0], t[1].names[2]", "1 nil nil nil 2 b"),
            ("t[1][2] = 20; t[1][4.0] = 4; t[1].names[1] = nil", ""),
            ("t[1]", "{1, 20, 3, 4, [12] = 12, names = {[2] = \"b\"}}"),
            ("local s = 0; for i, v in ipairs(t[1]) do s = s + i * v end; return s", "66"),
            ("for i = 1, 11 do t[1][i] = i end; return #t[1]", "12"),
            (
                "local s = ''; for k, v in pairs(t[1]) do s = s .. k .. ' ' end; return s",
                "1 2 3 4 5 6 7 8 9 10 11 12 names ",
            ),
            ("local s = 0; for k, v in next, t[1].names do s = s + k end; return s", "2"),
            ("t[2] = t[1]; t[2][1] = 7; return t[1][1], t[2][1], t[2].names[2]", "1 7 b"),
            ("t[1][13] = 1", "exec:1: bad value for table 't' (there is no field '13' in the table's value)"),
            ("t[1]['1'] = 1", "exec:1: bad value for table 't' (there is no field '1' in the table's value)"),
            ("t[1] = {'x'}", "exec:1: bad value for table 't' (integer expected, got string)"),
            (
                "t[1] = {[0] = 1}",
                "exec:1: bad value for table 't' (the fields of a record have names or places from 1 to 64)",
            ),
            (
                "t[3] = {}; return #t[3], t[3], pcall(function() event('x', t[1]) end)",
                "0 {} false exec:1: bad argument #2 to 'event' (number, string, boolean, nil or record of those expected, got table)",
            ),
        ],
    );
}

#[test]
fn traversals_visit_each_entry_once() {
    if !kernel() {
        return;
    }
    let mut state = one_table(Schema { capacity: 5000, ..schema(Type::Integer, Type::Integer) });
    expect(
        &mut state,
        &[
            ("next(t)", "nil"),
            ("for i = 1, 3000 do t[i] = i * 2 end", ""),
            (
                "local n, s = 0, 0; for k, v in pairs(t) do n, s = n + 1, s + v - k end; return n, s",
                "3000 4501500",
            ),
            (
                "local n, s = 0, 0; for k, v in next, t do n, s = n + 1, s + v - k end; return n, s",
                "3000 4501500",
            ),
            ("#t", "3000"),
            ("for k in pairs(t) do if k % 2 == 0 then t[k] = nil end end", ""),
            ("local n = 0; for k in pairs(t) do n = n + k % 2 end; return n", "1500"),
            ("for k in next, t do t[k] = nil end", ""),
            ("next(t)", "nil"),
            ("next(t, 7)", "invalid key to 'next'"),
            ("next(t, 'x')", "invalid key to 'next'"),
            ("t[3] = 4; return next(t, 3)", "nil"),
            ("for i, v in ipairs(t) do return i end", ""),
            ("t[1], t[2] = 1, 2; table.insert(t, 9); return t[4]", "9"),
        ],
    );
}

#[test]
fn every_type_of_key_comes_back() {
    if !kernel() {
        return;
    }
    for (ty, key) in [
        (Type::Integer, "-3"),
        (Type::Boolean, "true"),
        (text(8), "'a\\0b'"),
        (Type::Ipv4, "'192.0.2.7'"),
        (Type::Address, "'2001:db8::1'"),
        (Type::Mac, "'02:00:5e:10:00:0a'"),
        (Type::Prefix6, "'2001:db8::/32'"),
    ] {
        let mut state = one_table(schema(ty, Type::Boolean));
        let code = format!("t[{key}] = true; local k = next(t); return k == {key}, t[k]");
        assert_eq!(run(&mut state, &code), "true true", "{key}");
    }
    let mut state = one_table(schema(record(&[("a", Type::Integer), ("b", text(4))]), Type::Integer));
    expect(
        &mut state,
        &[
            ("t[{a = 1, b = 'x'}] = 5", ""),
            ("t[{b = 'x', a = 1}], t[{a = 1, b = 'y'}], t[{a = 1}]", "5 nil nil"),
            ("local k = next(t); return k.a, k.b", "1 x"),
            ("t[{a = 1}] = 5", "exec:1: bad key for table 't' (field 'b' of a key must not be nil)"),
        ],
    );
}

#[test]
fn floats_are_kept() {
    if !kernel() {
        return;
    }
    let mut state = one_table(schema(Type::Integer, Type::Float));
    let big = "exec:1: bad value for table 't' (float expected, got integer)";
    expect(
        &mut state,
        &[
            ("t[1], t[2], t[3.0], t[4] = 0.1, -0.0, 1e300, 7", ""),
            ("t[1], 1 / t[2], t[3], t[4], t[1.0], t[5]", "0.1 -inf 1e+300 7.0 0.1 nil"),
            ("t[6] = 0 / 0; return t[6] ~= t[6], math.type(t[4])", "true float"),
            ("t[7] = math.maxinteger", big),
            ("t[1.5] = 1.0", "exec:1: bad key for table 't' (integer expected, got float)"),
            ("t[1.5]", "nil"),
        ],
    );
    let mut state = one_table(schema(Type::Integer, record(&[("mean", Type::Float), ("n", Type::Integer)])));
    expect(
        &mut state,
        &[
            (
                "t[1] = {mean = 2, n = 3.0}; t[1].mean = t[1].mean / 4; return tostring(t[1])",
                "{mean = 0.5, n = 3}",
            ),
            ("t[1].n = 0.5", "exec:1: bad value for table 't' (integer expected, got float)"),
        ],
    );
}

#[test]
fn prefixes_contain_addresses() {
    if !kernel() {
        return;
    }
    let mut state = one_table(schema(Type::Prefix4, Type::Integer));
    expect(
        &mut state,
        &[
            ("t['10.0.0.0/8'] = 8; t['10.1.0.0/16'] = 16", ""),
            ("t['10.1.2.3'], t['10.2.0.1'], t['11.0.0.1']", "16 8 nil"),
            ("local s = 0; for k, v in pairs(t) do s = s + v; assert(k:find('/')) end; return s", "24"),
            ("t['10.1.0.0/16'] = nil; return t['10.1.2.3']", "8"),
            ("t['10.0.0.0/33'] = 1", "exec:1: bad key for table 't' ('10.0.0.0/33' is not an IPv4 prefix)"),
        ],
    );
}

#[test]
fn expired_entries_are_not_there() {
    if !kernel() {
        return;
    }
    let lifetime = Some(500_000_000);
    let mut state = one_table(Schema { lifetime, ..schema(Type::Integer, record(&[("n", Type::Integer)])) });
    expect(&mut state, &[("t[1] = {n = 1}; t[2] = {n = 2}; return t[1].n", "1")]);
    // What is assigned again and again lives on, until the other has ended.
    let deadline = Instant::now() + Duration::from_secs(20);
    while state.table("t").unwrap().get(&Datum::Integer(1)).unwrap() != Datum::Nil {
        assert!(Instant::now() < deadline, "an entry does not end");
        expect(&mut state, &[("t[2].n = 3", "")]);
        std::thread::sleep(Duration::from_millis(20));
    }
    expect(&mut state, &[("t[2].n = 3", "")]);
    expect(
        &mut state,
        &[
            ("t[1], t[2].n", "nil 3"),
            ("local n = 0; for k in pairs(t) do n = n + 1 end; return n", "1"),
            ("next(t, 2)", "nil"),
        ],
    );
}

#[test]
fn per_cpu_tables_are_sums() {
    if !kernel() {
        return;
    }
    let value = record(&[("n", Type::Integer), ("s", text(4))]);
    let mut state = one_table(Schema { per_cpu: true, ..schema(Type::Integer, value) });
    expect(
        &mut state,
        &[
            ("t[1] = {n = 5, s = 'x'}", ""),
            ("t[1]", "{n = 5, s = \"x\"}"),
            ("t[1].n = t[1].n + 1", ""),
            ("t[1].n", "6"),
            ("local k, v = next(t); return k, v.n", "1 6"),
        ],
    );
}

#[test]
fn tables_that_evict_take_everything() {
    if !kernel() {
        return;
    }
    let mut state = one_table(Schema { when_full: WhenFull::Evict, ..schema(Type::Integer, Type::Integer) });
    expect(
        &mut state,
        &[
            ("for i = 1, 1000 do t[i] = i end", ""),
            ("local n = 0; for k in pairs(t) do n = n + 1 end; return n > 0 and n <= 64", "true"),
        ],
    );
}

#[test]
fn tables_keep_their_identity() {
    if !kernel() {
        return;
    }
    let script = "local t = map{key = 'int', value = 'int'}
        holder = {inner = t}
        function fill() t[1] = 5; return holder.inner == t, holder.inner[1], u[1] end
        u = map()
        require('xdp').attach(function() return t[1], u[1] end)";
    let int = || schema(Type::Integer, Type::Integer);
    let mut state = control(script, &[("t", int()), ("u", int())]);
    expect(&mut state, &[("fill()", "true 5 nil"), ("u[1] = 7; return u[1], t[1]", "7 5")]);
}
