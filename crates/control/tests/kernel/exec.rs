//! Lua text from outside.

use crate::support::{control, expect, kernel, schema};
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
