//! What functions and maps of objects are given: the same is taken, and the same is refused with the same words, in all tiers and both forms.
//!
//! `MOONHOOK_ARGUMENTS` says how many random scripts, `MOONHOOK_FUZZ_SEED` which come first.

use crate::{Folder, own_options};
use moonhook_proof::{Pair, ProofError, host, random::Random};

/// Values of all types, and of texts and floats those that are integers.
const VALUES: [&str; 22] = [
    "nil",
    "true",
    "false",
    "1",
    "-1",
    "#pkt",
    "1.0",
    "1.5",
    "2^53",
    "1e30",
    "'7'",
    "'0x10'",
    "' 5 '",
    "'1.5'",
    "'1e1'",
    "'x'",
    "''",
    "tostring(#pkt)",
    "{}",
    "{ 3 }",
    "pkt",
    "print",
];

/// What is asked of the object, with values in the places of `$`. Of each kind a call in tail position is among them.
const USES: [&str; 14] = [
    "meter.count($, $)",
    "meter.count(pkt, $)",
    "meter.count(pkt.ip, $)",
    "meter.move($, $)",
    "meter.move({ x = $, up = $ }, $)",
    "meter.move({ x = 1, inner = { y = { $, 2, $ } } }, 1)",
    "meter.sum({ from = $, to = { $, 1 } })",
    "meter.even($)",
    "meter.maps.config[$]",
    "meter.maps.hits[$]",
    "meter.maps.pairs[$]",
    "meter.maps.pairs[{ from = $, to = { 1, $ } }]",
    "put(meter.maps.config, $, $)",
    "put(meter.maps.hits, $, { packets = $, last = 2 })",
];

/// Handlers of one script.
const CASES: usize = 8;

fn script(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = "local xdp, bpf = require 'xdp', require 'bpf'\nlocal meter = bpf.object 'meter.bpf.o'\n\
                    local function put(map, k, v)\n  map[k] = v\nend\nxdp.attach(function(pkt)\n"
        .to_string();
    for case in 0..CASES {
        let pattern = *random.pick::<&str>(&USES);
        let mut pieces = pattern.split('$');
        let mut made = pieces.next().unwrap_or_default().to_string();
        for piece in pieces {
            made += *random.pick(&VALUES);
            made += piece;
        }
        let line = match random.below(3) {
            0 => format!("return {made}"),
            1 => format!("print({made})"),
            _ => format!("print(pcall(function() return {made} end))"),
        };
        text += &format!("  if #pkt % {CASES} == {case} then\n    {line}\n  end\n");
    }
    text + "end)\n"
}

fn agrees(folder: &Folder, name: &str, text: &str) -> Result<(), ProofError> {
    std::fs::write(folder.path(name), text).expect("there is room");
    let mut pair = Pair::with_options(&folder.path(name), &own_options())?;
    // What load time knows to be wrong has no form at all, or only one.
    pair.take_refused();
    for length in 60..60 + CASES {
        let frame: Vec<u8> = (0..length).map(|at| if at == 12 { 8 } else { at as u8 }).collect();
        pair.run_named(&frame, || format!("{length} bytes"))?;
    }
    Ok(())
}

#[test]
fn functions_and_maps_take_the_same_values_in_all_tiers() {
    if !host::kernel_available("arguments of functions in C") {
        return;
    }
    let folder = Folder::new();
    folder.compile("meter");
    let first = host::setting("MOONHOOK_FUZZ_SEED", 1);
    for seed in first..first + host::setting("MOONHOOK_ARGUMENTS", 12) {
        let text = script(seed);
        agrees(&folder, "random.lua", &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    }
}

/// Errors have the line of the call, and say what is wrong with which argument.
#[test]
fn errors_say_which_argument_is_wrong_and_where() {
    let folder = Folder::new();
    folder.compile("meter");
    for (line, expected) in [
        ("print(meter.count(1, 1))", "bad argument #1 to 'count' (packet expected, got number)"),
        ("print(meter.count(pkt, {}))", "bad argument #2 to 'count' (number expected, got table)"),
        ("print(meter.count(pkt, 1.5))", "bad argument #2 to 'count' (number has no integer representation)"),
        ("print(meter.move(nil, 1))", "bad argument #1 to 'move' (table expected, got nil)"),
        (
            "print(meter.sum{ from = 'x' })",
            "bad field 'from' of argument #1 to 'sum' (number expected, got string)",
        ),
        ("meter.maps.config[1] = true", "bad value for the map 'config' (number expected, got boolean)"),
        ("print(meter.maps.pairs[1])", "bad key of the map 'pairs' (table expected, got number)"),
    ] {
        let text = format!(
            "local xdp, bpf = require 'xdp', require 'bpf'\nlocal meter = bpf.object 'meter.bpf.o'\n\
             xdp.attach(function(pkt)\n  {line}\nend)"
        );
        std::fs::write(folder.path("a.lua"), &text).expect("there is room");
        let loaded = moonhook_load::load(&[folder.path("a.lua")], &own_options()).expect("it is a script");
        let mut user = moonhook_user::UserTier::new(loaded, Default::default()).expect("it can be run");
        let outcome = user.run(&[0; 60]);
        let message = outcome.error.map(|error| String::from_utf8_lossy(&error.message).into_owned());
        let message = message.unwrap_or_default();
        assert!(message.ends_with(&format!("a.lua:4: {expected}")), "{line}: {message}");
        if host::kernel_available("errors of functions in C") {
            agrees(&folder, "a.lua", &text).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
}

/// Texts and floats are integers where Lua's own functions take them for some, at load time as well.
#[test]
fn texts_and_floats_can_be_integers() {
    let folder = Folder::new();
    folder.compile("meter");
    let text = "local xdp, bpf = require 'xdp', require 'bpf'\nlocal meter = bpf.object 'meter.bpf.o'\n\
                meter.maps.config['1'] = 7.0\nmeter.maps.config[2.0] = '0x10'\n\
                assert(not pcall(function() meter.maps.config[1] = true end))\n\
                xdp.attach(function(pkt)\n  print(meter.maps.config[1], meter.maps.config['2'], meter.even('4'), meter.even(3.0))\nend)";
    std::fs::write(folder.path("a.lua"), text).expect("there is room");
    let loaded = moonhook_load::load(&[folder.path("a.lua")], &own_options()).expect("it is a script");
    let mut user = moonhook_user::UserTier::new(loaded, Default::default()).expect("it can be run");
    assert_eq!(user.run(&[0; 60]).output, [b"7\t16\ttrue\tfalse".to_vec()]);
    if host::kernel_available("texts and floats as integers") {
        agrees(&folder, "a.lua", text).unwrap_or_else(|error| panic!("{error}"));
    }
}
