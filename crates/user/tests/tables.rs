//! Tables that scripts declare to be maps.

mod common;

use moonhook_load::{Moment, Options, load, set_time};
use moonhook_user::UserTier;

/// The tier of a script that prints what handlers see of the declared tables.
fn loaded(script: &str) -> UserTier {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.lua");
    std::fs::write(&path, script).unwrap();
    let loaded = load(&[path], &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    UserTier::new(loaded, Default::default()).unwrap()
}

/// From now on it is so many milliseconds after the test's beginning.
fn at(milliseconds: i64) {
    let nanoseconds = milliseconds * 1_000_000;
    set_time(Some(Moment { since_epoch: nanoseconds, monotonic: nanoseconds }));
}

/// The lines that a frame's handlers print, and the error without its position.
fn lines(tier: &mut UserTier) -> Vec<String> {
    let outcome = tier.run(&[0; 60]);
    let printed = outcome.output.into_iter().map(|line| String::from_utf8(line).unwrap());
    let error = outcome.error.map(|error| error.lossy().rsplit(": ").next().unwrap().to_string());
    printed.chain(error).collect()
}

#[test]
fn entries_end_and_begin_anew() {
    at(1000);
    let mut tier = loaded(
        "local t = map { ttl = 1, capacity = 2 }
         local r = map { ttl = 1, value = { n = 'int', at = { b = 'int' } } }
         local keep, turns = nil, 0
         t.a = 1
         r.a = { n = 1, at = { b = 2 } }
         require('xdp').attach(function()
           turns = turns + 1
           local all = {}
           for k, v in pairs(t) do all[#all + 1] = k .. v end
           print(t.a, r.a and r.a.n, r.a and r.a.at.b, table.concat(all, ' '), next(t), #t)
           if turns == 2 then r.a.at.b = 3 end
           if turns == 3 then t.b = 1; t.c = 1 end
           if turns == 4 then t.a = 5; t.b = nil; t.c = 2; t.d = 3 end
         end)",
    );
    assert_eq!(lines(&mut tier), ["1\t1\t2\ta1\ta\t0"]);
    at(1700);
    assert_eq!(lines(&mut tier), ["1\t1\t2\ta1\ta\t0"]);
    at(2200);
    // The assignment to a field has prolonged the record's life. Expired entries take room until something removes them.
    assert_eq!(lines(&mut tier), ["nil\t1\t3\t\tnil\t0", "table 't' is full"]);
    at(3300);
    assert_eq!(lines(&mut tier), ["nil\tnil\tnil\t\tnil\t0", "table 't' is full"]);
    assert_eq!(lines(&mut tier), ["5\tnil\tnil\ta5 c2\ta\t0"]);
}

#[test]
fn addresses_find_the_longest_prefix() {
    let mut tier = loaded(
        "local nets = map { lpm = true, capacity = 3 }
         local six = map { lpm = true, key = 'ipv6' }
         nets['10.1.2.3/8'], nets['0.0.0.0/0'], six['2001:DB8::/32'] = 'ten', 'any', 'doc'
         require('xdp').attach(function()
           print(nets['10.9.9.9'], nets['11.0.0.1'], nets['10.0.0.0/7'], nets['x'], nets[1], nets['::1'])
           print(six['2001:db8::1'], six['2001:db9::1'])
           nets['10.9.9.9/16'] = 'more'
           print(nets['10.9.9.9'], nets['10.8.9.9'])
           nets['10.9.0.0/16'], nets['x'] = nil, nil
           print(nets['10.9.9.9'])
           for prefix, name in pairs(nets) do print(prefix, name) end
           nets[7] = 1
         end)",
    );
    assert_eq!(
        lines(&mut tier),
        [
            "ten\tany\tany\tnil\tnil\tnil",
            "doc\tnil",
            "more\tten",
            "ten",
            "0.0.0.0/0\tany",
            "10.0.0.0/8\tten",
            "bad key for table 'nets' (ipv4 prefix expected, got number)",
        ]
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    for (options, statement, expected) in [
        ("value = 'string:3'", "t[1] = 'abc'; t[1] = 'abcd'", "value too long for table 't'"),
        ("key = 'string:3'", "t.abcd = 1", "key too long for table 't'"),
        ("key = 'int'", "t.a = 1", "bad key for table 't' (int expected, got string)"),
        ("value = 'int'", "t[1] = 1; t[1] = true", "bad value for table 't' (int expected, got boolean)"),
        ("key = 'ip'", "t.a = 1", "bad key for table 't' (ip expected, got string)"),
        ("key = 'ip'", "t['2001:DB8::1'] = 1", "bad key for table 't' (ip expected, got string)"),
        ("key = 'ip'", "t['2001:db8::1'] = 7; error(t['2001:db8::1'], 0)", "7"),
        ("value = 'mac'", "t[1] = 'AA:00:00:00:00:01'", "bad value for table 't' (mac expected, got string)"),
        ("value = { n = 'int' }", "t[1] = { n = 'x' }", "bad value for table 't' (int expected, got string)"),
        ("value = { s = 'string:1' }", "t[1] = { s = 'xx' }", "value too long for table 't'"),
        ("key = { a = 'int' }", "t[1] = 1", "bad key for table 't' ({a = \"int\"} expected, got number)"),
        ("capacity = 1, ttl = 10", "t[1] = 1; t[1] = 2; t[2] = 1", "table 't' is full"),
        ("capacity = 1, evict = 'lru', ttl = 10", "t[1] = 1; t[2] = 2; error(t[2], 0)", "2"),
        ("ttl = 10", "t[nil] = 1", "table index is nil"),
        ("key = { a = 'int' }", "t[{ a = 1 }] = 5; error(t[{ a = 1.0 }] or t[{ a = 1 }], 0)", "5"),
    ] {
        let script =
            format!("local t = map {{ {options} }}\nrequire('xdp').attach(function() {statement} end)");
        assert_eq!(lines(&mut loaded(&script)), [expected], "{options}: {statement}");
    }
}
