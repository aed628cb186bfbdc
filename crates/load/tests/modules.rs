//! The modules `set` and `rcu` at load time.

mod common;

use common::{load_handler, load_text};
use mlua::Function;

/// The global function `f` of the script gives this string.
fn gives(script: &str, expected: &str) {
    let loaded = load_handler(&format!(
        "local set, rcu = require 'set', require 'rcu'\n{script}\nfunction handler() end"
    ));
    let function: Function = loaded.scripts[0].globals.get("f").unwrap();
    assert_eq!(function.call::<String>(()).unwrap(), expected, "{script}");
}

#[test]
fn sets_answer_at_load_time_and_afterwards() {
    gives(
        "local list = {'c', 'a', 'b', 'a'}
         local s, none = set.new(list), set.new {}
         assert(table.concat(list) == 'aabc', 'the list is sorted')
         function f()
           return table.concat({#s, #none, tostring(s:has 'a'), tostring(s:has 'd'), tostring(s:has(1)), tostring(none:has '')}, ' ')
         end",
        "4 0 true false false false",
    );
    gives(
        "local s = set.labeled {['mail.example'] = 1, example = 2, [''] = 4, ['7'] = 0xffffffff}
         function f()
           local all = {#s}
           for i, name in ipairs {'mail.example', 'x.mail.example', 'example', 'mailexample', 'example.', '', 'org'} do
             all[i + 1] = s:match(name)
           end
           return table.concat(all, ' ') .. ' ' .. s:match(7)
         end",
        "4 3 3 2 0 4 4 0 4294967295",
    );
}

#[test]
fn map_visits_all_entries_of_a_table() {
    gives(
        "local t = rcu.table(4)
         t.a, t.b, t.c = 1, true, -7
         t.b = nil
         function f()
           local all = ''
           rcu.map(t, function(key, value) all = all .. key .. value; t[key] = nil end)
           return all .. ' ' .. tostring(next(t)) .. tostring(pcall(rcu.map, {1}, error))
         end",
        "a1c-7 nilfalse",
    );
}

#[test]
fn what_cannot_be_is_an_error_at_the_line_of_the_script() {
    for (call, expected) in [
        ("set.new {'a', 42}", "bad argument #1 to 'new' (members must be strings)"),
        ("set.new()", "bad argument #1 to 'new' (table expected, got no value)"),
        ("set.new 'a'", "bad argument #1 to 'new' (table expected, got string)"),
        ("set.labeled {[42] = 1}", "bad argument #1 to 'labeled' (members must be strings)"),
        ("set.labeled {a = 0}", "bad argument #1 to 'labeled' (labels must be integers in [1, 2^32))"),
        ("set.labeled {a = 1 << 32}", "bad argument #1 to 'labeled' (labels must be integers in [1, 2^32))"),
        ("set.labeled {a = 1.0}", "bad argument #1 to 'labeled' (labels must be integers in [1, 2^32))"),
        ("set.labeled {a = '1'}", "bad argument #1 to 'labeled' (labels must be integers in [1, 2^32))"),
        ("set.new{}:has()", "bad argument #1 to 'has' (string expected, got no value)"),
        ("set.new{}:has({})", "bad argument #1 to 'has' (string expected, got table)"),
        ("set.new{}.has({})", "bad argument #1 to 'has' (set expected, got table)"),
        ("set.labeled{}:match(nil)", "bad argument #1 to 'match' (string expected, got nil)"),
        (
            "set.labeled{}.match(set.new{}, 'a')",
            "bad argument #1 to 'match' (set.labeled expected, got table)",
        ),
        ("set.new{}.x = 1", "sets do not change"),
        ("rcu.table('many')", "bad argument #1 to 'table' (number expected, got string)"),
        ("rcu.map(1, print)", "bad argument #1 to 'map' (table expected, got number)"),
        ("rcu.map({})", "bad argument #2 to 'map' (function expected, got no value)"),
        ("rcu.map({1}, function() error('mine') end)", "mine"),
    ] {
        let call = if call.starts_with("set.new{}.x") {
            "local s = set.new{}\ns.x = 1".to_string()
        } else {
            call.into()
        };
        let script = format!("local set, rcu = require 'set', require 'rcu'\n{call}");
        let error = load_text(&script).err().unwrap_or_else(|| panic!("{call} is possible"));
        let line = script.lines().count() as u32;
        let diagnostic = error.diagnostic();
        assert_eq!(
            (diagnostic.place.map(|place| place.line), diagnostic.message.as_str()),
            (Some(line), expected),
            "{call}"
        );
    }
}

/// Which packets a handler of netfilter is for.
#[test]
fn marks_are_numbers_of_32_bits() {
    let marked = |mark: &str| {
        load_text(&format!(
            "require('netfilter').register {{ pf = 2, hooknum = 1, mark = {mark}, hook = function() end }}"
        ))
    };
    for (mark, shown) in [
        ("nil", "netfilter ipv4 LOCAL_IN 0"),
        ("0", "netfilter ipv4 LOCAL_IN 0"),
        ("7", "netfilter ipv4 LOCAL_IN 0 mark 7"),
        ("0xffffffff", "netfilter ipv4 LOCAL_IN 0 mark 4294967295"),
        ("'any'", "netfilter ipv4 LOCAL_IN 0 any mark"),
    ] {
        assert_eq!(marked(mark).unwrap().snapshot.points()[0].to_string(), shown);
    }
    for (mark, problem) in [
        ("-1", "integer of 32 bits expected"),
        ("1 << 32", "integer of 32 bits expected"),
        ("'7'", "a number or \"any\" expected"),
        ("1.5", "number has no integer representation"),
        ("{}", "number expected, got table"),
    ] {
        let error = marked(mark).err().unwrap().to_string();
        assert!(error.contains(&format!("bad field 'mark' ({problem}")), "{mark}: {error}");
    }
}
