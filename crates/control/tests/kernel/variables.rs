//! Variables that handlers assign, from Lua.

use crate::support::{APART, expect, kernel, turn, variables, variables_in_arena};
use moonhook_ir::VariableContent::{Boolean, Float, Integer, Ipv4, Mac, Nil, Object, Text, Texts, Truth};
use std::sync::Arc;

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
            ("act", [19, 0], &[(19, Object(None)), (20, text("none"))]),
            ("limits.burst", [2, 3], &[(2, Integer)]),
            ("_G.total", [0, 0], &[(0, Nil), (2, Integer)]),
        ],
    );
    let words = words.data();
    let word = |variable: usize, word: usize| words.load(APART * variable + 8 * word).unwrap();
    // Of "n", "from" and "limits.burst" the first kind's, of "maybe" that of integers and so on.
    let of = [(0, 1), (2, 1), (2, 2), (3, 2), (3, 3), (5, 1), (6, 2)];
    let payloads = || of.map(|(variable, number)| word(variable, number) as i64);
    expect(&mut state, &[("n, mode, from, maybe, limits.burst, total", "5 open 10.0.0.1 nil 3 nil")]);
    // What packets leave is seen, also by functions that share the variable.
    assert!(words.store(8, 41) && words.store(APART * 5 + 8, 7));
    assert!(words.store(APART, 18) && words.store(APART * 3 + 16, 1) && words.store(APART * 3, 1));
    expect(&mut state, &[("step(), n, mode, maybe, limits.burst", "42 42 shut true 14")]);
    assert_eq!(payloads(), [42, 0x0a00_0001, 0, 1, 0, 14, 0]);
    // What is assigned is there for packets.
    expect(
        &mut state,
        &[("mode = 'open'; from = '52:54:00:12:34:56'; maybe = -1; total = 2^40; act = 'none'", "")],
    );
    assert_eq!(payloads(), [42, 0x0a00_0001, 0x5254_0012_3456, 1, -1, 14, 1 << 40]);
    assert_eq!([1, 2, 3, 4, 6].map(|variable| word(variable, 0)), [17, 8, 2, 20, 2]);
    expect(&mut state, &[("maybe = nil; n = n - 50", ""), ("n, maybe, total", "-8 nil 1099511627776")]);
    // The error of one variable does not keep the others from being assigned.
    let turned = turn(&mut state);
    assert_eq!(turned, ["error: variable 'n' of the handlers is an integer: it cannot be the number -7.5"]);
    expect(&mut state, &[("n, total", "-8 1099511627768")]);
    assert_eq!(payloads(), [-8, 0x0a00_0001, 0x5254_0012_3456, 1, 0, 14, (1 << 40) - 8]);
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
            ("mode", "open"),
            (
                "mode = 'x'; n = 'many'",
                "variable 'n' of the handlers is an integer: it cannot be the string 'many'",
            ),
            ("n, mode", "5 x"),
            ("error('mine')", "exec:1: mine"),
        ],
    );
}

#[test]
fn variables_of_general_code_have_values_of_all_types() {
    if !kernel() {
        return;
    }
    // "openshut" at 0, and the variables from 8 on.
    let texts = [("open", 4 << 32), ("shut", 4 | 4 << 32), ("", 3)];
    let texts = texts.iter().map(|(text, payload)| (text.as_bytes().to_vec(), *payload)).collect();
    let kinds = [
        (0, Nil),
        (1, Truth(false)),
        (2, Truth(true)),
        (3, Integer),
        (4, Float),
        (5, Texts(Arc::new(texts))),
    ];
    let all = [
        ("n", [3, 5]),
        ("mode", [5, 4 << 32]),
        ("from", [4, 1.5f64.to_bits()]),
        ("maybe", [0, 0]),
        ("act", [7, 4096]),
        ("_G.total", [0, 0]),
    ];
    let described: Vec<_> = all.iter().map(|(name, words)| (*name, *words, &kinds[..])).collect();
    let (mut state, program, arena) = variables_in_arena(&[SCRIPT], &described, b"openshut");
    let word = |variable: usize, word: usize| {
        arena.with(|bytes| bytes.load(8 + APART * variable + 8 * word).unwrap()).unwrap()
    };
    // Tag and the payload that is its own.
    let words = |variable: usize| {
        let tag = word(variable, 0);
        [tag, word(variable, 1 + tag as usize)]
    };
    expect(
        &mut state,
        &[
            ("n, mode, from, maybe, act == print, total", "5 open 1.5 nil true nil"),
            ("mode = 'shut'; maybe = true; n = step(); total = 2^40; act = nil", ""),
        ],
    );
    let written = [[3, 6], [5, 4 | 4 << 32], [4, 1.5f64.to_bits()], [2, 0], [0, 0], [3, 1 << 40]];
    assert_eq!([0, 1, 2, 3, 4, 5].map(words), written);
    let is = "of the handlers is nil or a boolean or an integer or a string of the script: it cannot be";
    expect(
        &mut state,
        &[
            ("mode = ''; maybe = false; act = 'open'", ""),
            ("mode, maybe, act", " false open"),
            ("n = 'open'; mode = 7; from = 7", ""),
            ("n, mode, from", "open 7 7"),
            ("mode = 'more'", &format!("variable 'mode' {is} the string 'more'")),
            ("maybe = 1.5", &format!("variable 'maybe' {is} the number 1.5")),
            ("maybe = {}", &format!("variable 'maybe' {is} a table value")),
            ("n, mode, from, maybe", "open 7 7 false"),
            ("mode = nil", ""),
            ("n, mode, total", "open nil 1099511627776"),
        ],
    );
    // What was assigned with another tag is still there.
    assert_eq!((words(0), words(3), word(0, 1 + 3)), ([5, 4 << 32], [1, 0], 6));
    // What only handlers can have leaves the Lua state as it is; nothing is there without the program.
    let stored = arena.with(|bytes| bytes.store(8 + APART * 5, 6));
    assert_eq!(stored, Some(true));
    expect(&mut state, &[("total", "1099511627776")]);
    drop(program);
    assert!(arena.with(|_| ()).is_none());
    expect(&mut state, &[("total = 3; n = 9", ""), ("n, total", "9 3")]);
}
