//! Answers without the kernel: reports, replays in real Lua, and the schemas of `--json`.

mod common;

use common::{BUSY, PASS, Place, TIMES, times, write_capture};
use moonhook_proof::host::kernel_available;
use serde_json::json;

#[test]
fn check_reports_in_json() {
    let place = Place::with(&[("x.lua", &format!("print('noise')\n{PASS}"))]);
    let run = place.run(&["check", "--no-kernel", "--json", "x.lua"]).ends_with(0);
    let report = run.json();
    assert_eq!(report["script"], "x.lua");
    assert_eq!(report["programs"][0]["name"], "x");
    assert_eq!(report["programs"][0]["section"], "xdp");
    assert_eq!(report["programs"][0]["kernel"], json!(null));
    assert_eq!(report["handlers"], json!([{ "hook": "xdp", "place": "x.lua:2" }]));
    assert!(report["program"]["instructions"].as_u64().unwrap() >= 2);
    let times = &report["timings_us"];
    assert_eq!(times["kernel_load"], json!(null));
    let sum: u64 =
        ["load", "lower", "passes", "emit"].iter().map(|stage| times[stage].as_u64().unwrap()).sum();
    assert_eq!(times["total"].as_u64(), Some(sum));
    // What the script prints while it is loaded is not part of the answer.
    assert_eq!(run.stderr(), "noise\n");
}

#[test]
fn errors_in_json_have_code_place_and_help() {
    let place = Place::with(&[("x.lua", "local t\nt.x = 1")]);
    let error = place.run(&["check", "--no-kernel", "--json", "x.lua"]).ends_with(1).json()["error"].clone();
    assert_eq!(error["code"], "MH0103");
    assert_eq!(error["place"]["file"], "x.lua");
    assert_eq!(error["place"]["line"], 2);
    assert_eq!(error["place"]["text"], "t.x = 1");
    assert!(error["message"].as_str().unwrap().contains("nil") && error["help"].is_string(), "{error}");
}

/// Every command that loads scripts does so first, and within limits that can be set.
#[test]
fn load_time_is_limited_in_every_command() {
    let place = Place::with(&[("x.lua", &format!("local t = {{}} for i = 1, 1e5 do t[i] = i end {PASS}"))]);
    place.capture("t.pcap", &[0]);
    for command in [
        &["check", "--no-kernel", "x.lua"][..],
        &["build", "x.lua", "-o", "x.o"],
        &["dump", "--stage", "snapshot", "x.lua"],
        &["replay", "--tier", "user", "x.lua", "t.pcap"],
        &["replay", "--tier", "both", "x.lua", "t.pcap"],
        &["bench", "x.lua"],
        &["run", "lo", "x.lua"],
    ] {
        let with = |option: [&'static str; 2]| place.run(&[command, &option].concat());
        with(["--load-steps", "100000"]).ends_with(1).complains("MH0105");
        with(["--load-memory", "1MiB"]).ends_with(1).complains("MH0106");
    }
    for enough in [&["--load-steps", "1000000"][..], &["--load-memory", "16 MiB"], &[]] {
        place.run(&[&["check", "--no-kernel", "x.lua"], enough].concat()).ends_with(0);
    }
}

#[test]
fn programs_for_several_buffers_say_so() {
    let place = Place::with(&[("x.lua", BUSY)]);
    let section = |options: &[&str]| {
        let report = place.run(&[&["check", "--no-kernel", "--json", "x.lua"], options].concat());
        report.ends_with(0).json()["programs"][0]["section"].clone()
    };
    assert_eq!((section(&[]), section(&["--frags"])), (json!("xdp"), json!("xdp.frags")));
    place.run(&["build", "x.lua", "-o", "x.o", "--frags"]).ends_with(0);
    let object = std::fs::read(place.path("x.o")).unwrap();
    assert!(object.windows(10).any(|bytes| bytes == b"xdp.frags\0"));
    let dump = place.run(&["dump", "--stage", "ir", "--frags", "x.lua"]).ends_with(0).stdout();
    assert!(dump.contains("program \"xdp.frags\""), "{dump}");
}

#[test]
fn build_writes_the_same_object_every_time() {
    let place = Place::with(&[("x.lua", BUSY)]);
    place.run(&["build", "x.lua", "-o", "a.o", "--cpus", "4"]).ends_with(0);
    place.run(&["build", "x.lua", "-o", "b.o", "--cpus", "4"]).ends_with(0);
    let read = |name| std::fs::read(place.path(name)).unwrap();
    assert_eq!(read("a.o"), read("b.o"));
    assert!(read("a.o").starts_with(b"\x7fELF"));
}

#[test]
fn dump_shows_each_stage() {
    let place = Place::with(&[("x.lua", &format!("print('noise')\n{BUSY}"))]);
    for (stage, expected) in
        [("snapshot", "closure"), ("ir", "program \"xdp\""), ("opt", "program \"xdp\""), ("asm", "exit")]
    {
        let run = place.run(&["dump", "--stage", stage, "x.lua"]).ends_with(0);
        assert!(run.stdout().contains(expected), "{stage}:\n{}", run.stdout());
        assert!(!run.stdout().contains("noise\n"), "{stage}:\n{}", run.stdout());
    }
}

#[test]
fn several_scripts_are_one_program() {
    let place = Place::with(&[("a.lua", PASS), ("b.lua", BUSY)]);
    let report = place.run(&["check", "--no-kernel", "--json", "a.lua", "b.lua"]).ends_with(0).json();
    let places: Vec<_> = report["handlers"].as_array().unwrap().iter().map(|h| h["place"].clone()).collect();
    assert_eq!(places, ["a.lua:1", "b.lua:4"]);
    let text = place.run(&["check", "--no-kernel", "a.lua", "b.lua"]).ends_with(0).stdout();
    let listed = "  2 handlers, compiled to one program; they run in this order while they pass:\n    \
                  1. a.lua:1\n    2. b.lua:4\n";
    assert!(text.contains(listed), "{text}");
}

#[test]
fn replay_in_real_lua_shows_frames_and_totals() {
    let place = Place::with(&[("x.lua", BUSY)]);
    place.capture("t.pcap", &[0, 1, 2, 3, 4, 1]);
    let shown = place.run(&["replay", "--tier", "user", "x.lua", "t.pcap"]).ends_with(0).stdout();
    for part in [
        "\n      2  PASS      60 bytes\n         print frame\t2\n",
        "error x.lua:8: bad argument #1 to 'getbyte' (out of bounds)",
        "      4  PASS      60 bytes, changed\n",
        "      5  DROP      60 bytes\n",
        "print frame\t6\n",
        "6 frames: DROP 1, PASS 5\nchanged 1, errors 1, prints 2\n",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
    let quiet = place.run(&["replay", "--tier", "user", "-q", "x.lua", "t.pcap"]).ends_with(0).stdout();
    assert_eq!(quiet.lines().count(), 6, "{quiet}");
    for part in [
        "PASS      60 bytes\n         error x.lua:8: bad argument #1 to 'getbyte' (out of bounds)\n",
        "6 frames: DROP 1, PASS 5\nchanged 1, errors 1, prints 2\n",
    ] {
        assert!(quiet.contains(part), "{part:?} is missing in:\n{quiet}");
    }
}

#[test]
fn replay_in_json() {
    let place = Place::with(&[("x.lua", BUSY)]);
    place.capture("t.pcap", &[1, 2, 3, 4]);
    let arguments = ["replay", "--tier", "user", "--json", "--on-error", "drop", "x.lua", "t.pcap"];
    let answer = place.run(&arguments).ends_with(0).json();
    let frames = answer["frames"].as_array().unwrap();
    let verdicts: Vec<_> = frames.iter().map(|frame| frame["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["PASS", "DROP", "PASS", "DROP"]);
    assert_eq!(frames[0]["prints"], json!(["frame\t1"]));
    assert_eq!(frames[1]["error"]["message"], "x.lua:8: bad argument #1 to 'getbyte' (out of bounds)");
    assert_eq!((&frames[2]["changed"], &frames[2]["length"]), (&json!(true), &json!(60)));
    assert_eq!(answer["totals"]["verdicts"], json!({ "PASS": 2, "DROP": 2 }));
    assert_eq!((&answer["totals"]["errors"], &answer["error"]), (&json!(1), &json!(null)));
}

/// Totals say how many errors there were; what to look for is said of the first one.
#[test]
fn a_quiet_replay_shows_the_first_error_and_its_frame() {
    let place = Place::with(&[("x.lua", BUSY)]);
    place.capture("t.pcap", &[0, 1, 2, 0, 2, 2]);
    let arguments = ["replay", "--tier", "user", "-q", "x.lua", "t.pcap"];
    let quiet = place.run(&arguments).ends_with(0).stdout();
    let all = place.run(&["replay", "--tier", "user", "x.lua", "t.pcap"]).ends_with(0).stdout();
    let errors = |shown: &str| shown.lines().filter(|line| line.contains("error x.lua:8: ")).count();
    assert_eq!((errors(&quiet), errors(&all)), (1, 3), "{quiet}");
    let frame = quiet.lines().next().unwrap();
    assert!(frame.trim_start().starts_with("3 ") && all.contains(frame), "{quiet}");
    let frames = place.run(&[&arguments[..], &["--json"]].concat()).ends_with(0).json()["frames"].clone();
    assert_eq!(frames.as_array().unwrap().len(), 1);
    assert_eq!((&frames[0]["number"], &frames[0]["error"]["message"].is_string()), (&json!(3), &true));
    place.capture("t.pcap", &[0, 1]);
    let quiet = place.run(&arguments).ends_with(0).stdout();
    assert_eq!(quiet, "2 frames: PASS 2\nchanged 0, errors 0, prints 1\n");
}

#[test]
fn what_passed_is_written() {
    let place = Place::with(&[("x.lua", BUSY)]);
    place.capture("t.pcap", &[0, 3, 4, 0]);
    place.run(&["replay", "--tier", "user", "--out", "passed.pcap", "x.lua", "t.pcap"]).ends_with(0);
    let passed: Vec<_> =
        moonhook_capture::open(place.path("passed.pcap")).unwrap().map(|frame| frame.unwrap().data).collect();
    assert_eq!(passed.iter().map(|data| (data[0], data[1])).collect::<Vec<_>>(), [(0, 0), (3, 0xff), (0, 0)]);
}

#[test]
fn what_is_not_dropped_is_written() {
    let choose = |attach: &str, first: &str, second: &str| {
        format!(
            "{attach}(function(p) local b = p:getbyte(0) return b == 1 and {first} or b == 2 and {second} or nil end)"
        )
    };
    let place = Place::with(&[
        ("xdp.lua", &choose("local xdp = require 'linux.xdp' require 'xdp'.attach", "xdp.TX", "xdp.DROP")),
        ("tc.lua", &choose("local tc = require 'linux.tc' require 'tc'.ingress", "tc.OK", "tc.SHOT")),
    ]);
    place.capture("t.pcap", &[0, 1, 2, 3]);
    for script in ["xdp.lua", "tc.lua"] {
        place.run(&["replay", "--tier", "user", "--out", "out.pcap", script, "t.pcap"]).ends_with(0);
        let frames = moonhook_capture::open(place.path("out.pcap")).unwrap();
        let kept: Vec<u8> = frames.map(|frame| frame.unwrap().data[0]).collect();
        assert_eq!(kept, [0, 1, 3], "{script}");
    }
}

#[test]
fn the_limit_ends_a_replay() {
    let place = Place::with(&[("x.lua", PASS)]);
    place.capture("t.pcap", &[0; 9]);
    let arguments = ["replay", "--tier", "user", "--quiet", "--limit", "4", "x.lua", "t.pcap"];
    assert!(place.run(&arguments).ends_with(0).stdout().starts_with("4 frames: PASS 4\n"));
}

/// The frames before the cut are shown, in both forms.
#[test]
fn a_capture_that_is_cut_off_fails_after_its_frames() {
    let place = Place::with(&[("x.lua", PASS)]);
    write_capture(&place.path("t.pcap"), std::iter::repeat_n(vec![0; 60], 3));
    let bytes = std::fs::read(place.path("t.pcap")).unwrap();
    std::fs::write(place.path("t.pcap"), &bytes[..bytes.len() - 10]).unwrap();
    let text = place.run(&["replay", "--tier", "user", "x.lua", "t.pcap"]).ends_with(3).complains("MH0604");
    assert!(text.stdout().contains("2 frames: PASS 2"), "{}", text.stdout());
    let answer = place.run(&["replay", "--tier", "user", "--json", "x.lua", "t.pcap"]).ends_with(3).json();
    assert_eq!(answer["frames"].as_array().unwrap().len(), 2);
    assert_eq!(answer["error"]["code"], "MH0604");
}

/// The lines that handlers print in a replay.
fn printed(run: &common::Run) -> Vec<String> {
    let frames = run.json()["frames"].as_array().unwrap().clone();
    let prints = frames.iter().flat_map(|frame| frame["prints"].as_array().unwrap().clone());
    prints.map(|print| print.as_str().unwrap_or_default().to_string()).collect()
}

/// The text of an entry is no two tiers' own, but it is not that of nil.
#[test]
fn entries_are_printed_as_tables() {
    if !kernel_available("entries_are_printed_as_tables") {
        return;
    }
    let script = "local t = map { key = 'int', value = { n = 'int' }, capacity = 4 }
        require('xdp').attach(function() print(t[1]) t[1] = { n = 1 } print(t[1]) end)";
    let place = Place::with(&[("x.lua", script)]);
    place.capture("t.pcap", &[0]);
    for options in [&["--form", "expanded"][..], &["--form", "general"], &["--tier", "user"]] {
        let run = place.run(&[&["replay", "--json", "x.lua", "t.pcap"], options].concat()).ends_with(0);
        let lines = printed(&run);
        assert!(lines[0] == "nil" && lines[1].starts_with("table: "), "{options:?}: {lines:?}");
    }
}

#[test]
fn a_replay_has_the_time_of_the_capture() {
    let place = Place::with(&[("x.lua", TIMES)]);
    let expected = times(&place.path("t.pcap"));
    let run = place.run(&["replay", "--tier", "user", "--json", "x.lua", "t.pcap"]).ends_with(0);
    assert_eq!(printed(&run), expected);
}

/// Slow patterns cannot be stopped by the hook that counts instructions.
#[test]
fn load_steps_hold_inside_library_functions() {
    let slow = format!("local _ = ('a'):rep(300):find('.-.-.-.-.-.-b$') {PASS}");
    let place = Place::with(&[("x.lua", &slow)]);
    for command in
        [&["check", "--no-kernel", "x.lua"][..], &["build", "x.lua", "-o", "x.o"], &["run", "lo", "x.lua"]]
    {
        place.run(&[command, &["--load-steps", "1000000"]].concat()).ends_with(1).complains("MH0105");
    }
}

/// Where no instruction runs and nothing can be asked before, the process ends instead.
#[test]
fn load_time_without_an_end_in_the_library_ends_the_command() {
    let endless =
        "table.concat(setmetatable({}, {__index = getmetatable, __metatable = ''}), '', 1, 1 << 60)";
    let place = Place::with(&[("x.lua", &format!("{endless} {PASS}"))]);
    let check = ["check", "--no-kernel", "--load-steps", "1000", "x.lua"];
    place.run(&check).ends_with(1).complains("MH0105");
    let json = place.run(&[&check[..], &["--json"]].concat()).ends_with(1).json();
    assert_eq!(json["error"]["code"], "MH0105");
}

/// Every command that loads scripts has the option, and its message names it.
#[test]
fn folders_to_read_can_be_named_in_every_command() {
    let script = format!("local name = assert(io.lines('../list.txt'))() {PASS}");
    let place = Place::with(&[("list.txt", "one\n")]);
    std::fs::create_dir(place.path("scripts")).unwrap();
    std::fs::write(place.path("scripts/x.lua"), script).unwrap();
    place.capture("t.pcap", &[0]);
    for command in [
        &["check", "--no-kernel", "scripts/x.lua"][..],
        &["build", "scripts/x.lua", "-o", "x.o"],
        &["dump", "--stage", "snapshot", "scripts/x.lua"],
        &["replay", "--tier", "user", "scripts/x.lua", "t.pcap"],
    ] {
        let refused = place.run(command).ends_with(1).complains("MH0103");
        assert!(refused.stderr().contains("--allow-read DIR"), "{}", refused.stderr());
        place.run(&[command, &["--allow-read", "."]].concat()).ends_with(0);
        place.run(&[command, &["--allow-read", "nowhere"]].concat()).ends_with(3).complains("MH0101");
    }
    for command in ["run", "bench", "reload"] {
        let help = place.run(&[command, "--help"]).ends_with(0).stdout();
        assert!(help.contains("--allow-read <DIR>"), "{help}");
    }
}
