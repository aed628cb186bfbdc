//! Variables of several types that both CPUs assign at once: what is read is always one of the values that are assigned.

use crate::support::{entries, frame, loaded_with, packets, run_twice};
use moonhook_engine::{Form, Settings};
use moonhook_proof::host;

/// What is declared, what each packet assigns in turn, and what is wrong with what it has read as `c`.
const VARIABLES: &[(&str, &[&str], &str)] = &[
    ("local v = 1500", &["nil", "1500"], "c ~= nil and c ~= 1500"),
    ("v = 1500", &["nil", "1500"], "c ~= nil and c ~= 1500"),
    ("local v = true", &["77", "true", "78"], "c ~= true and c ~= 77 and c ~= 78"),
    (
        "local s = {v = 12345}",
        &["12345", "A", "nil", "B"],
        "c ~= nil and c ~= 12345 and c.n ~= 'a' and c.n ~= 'b'",
    ),
    ("local v = 'one'", &["'one'", "2", "'three'", "false"], "c and c ~= 'one' and c ~= 2 and c ~= 'three'"),
    ("local v = 1", &["1", "0.25", "nil", "-0.5"], "c ~= nil and c ~= 1 and c ~= 0.25 and c ~= -0.5"),
    ("local v = 5", &["i < 2 and 5 or nil", "6", "nil"], "c ~= nil and c ~= 5 and c ~= 6"),
    ("local v", &["pkt.eth.src", "7", "nil"], "c ~= nil and c ~= 7 and c ~= pkt.eth.src"),
];

fn script((declaration, assigned, wrong): (&str, &[&str], &str), form: Form) -> Option<String> {
    // General code makes strings of MAC addresses, which it cannot keep.
    let has_address = assigned.contains(&"pkt.eth.src");
    if has_address && form != Form::Expanded {
        return None;
    }
    let place = if declaration.contains("{v") { "s.v" } else { "v" };
    let arms: Vec<String> = assigned
        .iter()
        .enumerate()
        .map(|(number, value)| format!("if k == {number} then {place} = {value} end"))
        .collect();
    let (arms, count) = (arms.join("\n"), assigned.len());
    Some(format!(
        "local xdp = require 'xdp'
        local t = map {{key = 'int', value = 'int'}}
        local turn = 0
        local A, B = {{n = 'a'}}, {{n = 'b'}}
        {declaration}
        xdp.attach(function(pkt)
          local i = pkt:getuint8(14) & 3
          local c = {place}
          if {wrong} then t[1] = (t[1] or 0) + 1 end
          t[2] = (t[2] or 0) + 1
          local k = (turn + i) % {count}
          turn = turn + 1
          {arms}
        end)"
    ))
}

#[test]
fn variables_of_several_types_are_read_whole() {
    if !host::kernel_available("variables") {
        return;
    }
    for (form, compact) in [(Form::Expanded, false), (Form::General, false), (Form::General, true)] {
        for variable in VARIABLES {
            let Some(text) = script(*variable, form) else { continue };
            let settings = Settings { form: Some(form), compact, ..Settings::default() };
            println!("{form:?}, compact: {compact}: {text}");
            let (program, module, name) = loaded_with(&text, &settings);
            run_twice(&program, &name, &frame("tcp"), packets());
            let found = entries(&program, &module, "t");
            assert_eq!(found, [format!("2 {}", 2 * packets())], "{form:?}, compact: {compact}: {text}");
        }
    }
}
