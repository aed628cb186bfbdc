//! Lua text from outside.

use crate::support::{control, expect, kernel, schema, variables};
use moonhook_ir::VariableContent::Integer;
use moonhook_schema::Type;

#[test]
fn text_is_an_expression_or_statements() {
    if !kernel() {
        return;
    }
    let script = "local hidden = {}
        limit = 5
        function twice(x) print('twice', x); return x * 2 end
        require('xdp').attach(function() return hidden.x end)";
    let mut state = control(script, &[("hidden", schema(Type::Integer, Type::Integer))]);
    expect(
        &mut state,
        &[
            ("1 + 1, 'x', 1.5, nil, true", "2 x 1.5 nil true"),
            ("", ""),
            ("limit", "5"),
            ("limit = limit + 1", ""),
            ("limit, _G.limit", "6 6"),
            ("twice(limit)", "12"),
            ("hidden[1] = 3; return hidden[1]", "3"),
            ("debug, os.execute", "nil nil"),
            ("error('no')", "exec:1: no"),
            ("while true do end", "the function was stopped: it ran for more than 2 seconds"),
            ("setmetatable({}, {__tostring = function() return 'shown' end})", "shown"),
        ],
    );
    let answer = state.exec("twice(4), 'text'");
    assert_eq!(answer.printed, [b"twice\t4".to_vec()]);
    let strings: Vec<bool> = answer.result.unwrap().iter().map(|shown| shown.is_string).collect();
    assert_eq!(strings, [false, true]);
    let error = state.exec("local x = = 1").result.unwrap_err();
    assert!(error.message.starts_with("exec:1: unexpected symbol"), "{error}");
    let error = state.exec("twice('a' .. {})").result.unwrap_err();
    assert_eq!(error.traceback, ["exec:1: in main chunk"]);
}

/// Whatever they hold: records that handlers write, lists of them, constants, what only control code has.
#[test]
fn local_variables_have_their_names() {
    if !kernel() {
        return;
    }
    let script = "local stats, rules, limit, unused = {opened = 0}, {{hits = 0}, {hits = 4}}, 7, 9
        local function inner() return limit end
        local ticks, large, written = 3, {}, {}
        for i = 1, 20000 do large[i], written[i] = i, {} end
        written[1] = stats
        function global() ticks = ticks + 1; return rules end
        timer.after(3600, function() return unknown_to_packets end)
        local late = 'late'
        timer.every(3600, function() return late end)
        require('xdp').attach(function() stats.opened = stats.opened + #rules + #large + #written; return inner() end)";
    let (mut state, words) = variables(&[script], &[("stats.opened", [0, 5], &[(2, Integer)])]);
    assert!(words.data().store(8, 41));
    expect(
        &mut state,
        &[
            ("stats.opened, #rules, rules[1].hits + rules[2].hits, limit", "41 2 4 7"),
            ("ticks, late, inner()", "3 late 7"),
            ("stats.opened = 12; rules[1].hits = 1; ticks = 8; limit = 6", ""),
            ("stats.opened, global()[1].hits, ticks, limit, inner()", "12 1 9 6 6"),
            // What the handler's own tables hold is kept, other large tables are not; nor is what no function has.
            ("#written, large, unused, limit_of_nothing", "20000 nil nil nil"),
            ("_G.limit, _G.ticks", "nil nil"),
        ],
    );
    assert_eq!(words.data().load(8), Some(12));
}
