//! Variables that handlers assign, from Lua.

use crate::support::{expect, kernel, turn, variables};
use moonhook_ir::VariableContent::{Boolean, Integer, Ipv4, Mac, Nil, Object, Text};

const SCRIPT: &str = "local n, mode, from, maybe, act = 5, 'open', '10.0.0.1', nil, print
    limits = {burst = 3}
    function step() n = n + 1; limits.burst = limits.burst * 2; return n end
    require('xdp').attach(function() return n, mode, from, maybe, act, limits.burst, total end)
    timer.after(0, function() total = (total or 0) + n; n = n + 0.5 end)";

const OTHER: &str = "limit, limits = 9, nil
    require('xdp').attach(function() return other end)";

#[test]
fn both_sides_have_the_same_variables() {
    if !kernel() {
        return;
    }
    let text = |text: &str| Text(text.into());
    let (mut state, words) = variables(
        &[SCRIPT, OTHER],
        &[
            // Of a single kind with a payload no tag is written.
            ("n", [0, 5], &[(2, Integer)]),
            ("mode", [17, 0], &[(17, text("open")), (18, text("shut"))]),
            ("from", [6, 0x0a00_0001], &[(6, Ipv4), (8, Mac)]),
            ("maybe", [0, 0], &[(0, Nil), (1, Boolean), (2, Integer)]),
            ("act", [19, 0], &[(19, Object), (20, text("none"))]),
            ("limits.burst", [2, 3], &[(2, Integer)]),
            ("_G.total", [0, 0], &[(0, Nil), (2, Integer)]),
        ],
    );
    let words = words.data();
    let word = |variable: usize, word: usize| words.load(24 * variable + 8 * word).unwrap();
    let payloads = || (0..7).map(|variable| word(variable, 1) as i64).collect::<Vec<_>>();
    expect(&mut state, &[("n, mode, from, maybe, limits.burst, total", "5 open 10.0.0.1 nil 3 nil")]);
    // What packets leave is seen, also by functions that share the variable.
    assert!(words.store(8, 41) && words.store(24 * 5 + 8, 7));
    assert!(words.store(24, 18) && words.store(24 * 3 + 8, 1) && words.store(24 * 3, 1));
    expect(&mut state, &[("step(), n, mode, maybe, limits.burst", "42 42 shut true 14")]);
    assert_eq!(payloads(), [42, 0, 0x0a00_0001, 1, 0, 14, 0]);
    // What is assigned is there for packets.
    expect(
        &mut state,
        &[("mode = 'open'; from = '52:54:00:12:34:56'; maybe = -1; total = 2^40; act = 'none'", "")],
    );
    assert_eq!(payloads(), [42, 0, 0x5254_0012_3456, -1, 0, 14, 1 << 40]);
    assert_eq!([1, 2, 3, 4, 6].map(|variable| word(variable, 0)), [17, 8, 2, 20, 2]);
    expect(&mut state, &[("maybe = nil; n = n - 50", ""), ("n, maybe, total", "-8 nil 1099511627776")]);
    // The error of one variable does not keep the others from being assigned.
    let turned = turn(&mut state);
    assert_eq!(turned, ["error: variable 'n' of the handlers is an integer: it cannot be the number -7.5"]);
    expect(&mut state, &[("n, total", "-8 1099511627768")]);
    assert_eq!(payloads(), [-8, 0, 0x5254_0012_3456, 0, 0, 14, (1 << 40) - 8]);
}

#[test]
fn names_are_looked_up_in_all_scripts() {
    if !kernel() {
        return;
    }
    let (mut state, _) = variables(&[SCRIPT, OTHER], &[("n", [0, 5], &[(2, Integer)])]);
    expect(
        &mut state,
        &[
            ("limit, limits.burst, nowhere", "9 3 nil"),
            ("limit = 10; limits = 1; nowhere = 2", ""),
            ("limit, limits, nowhere", "10 1 2"),
            ("mode", "nil"),
            (
                "mode = 'x'; n = 'many'",
                "variable 'n' of the handlers is an integer: it cannot be the string 'many'",
            ),
            ("n, mode", "5 x"),
            ("error('mine')", "exec:1: mine"),
        ],
    );
}
