//! Command lines that make no sense, files that are not there, and the exit codes of it all. Needs no privilege.

mod common;

use common::{BUSY, PASS, Place};

#[test]
fn usage_errors_end_with_2() {
    let place = Place::with(&[("x.lua", PASS)]);
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["check"],
        &["check", "x.lua", "--frobnicate"],
        &["build", "x.lua"],
        &["build", "x.lua", "-o", "x.o", "--cpus", "0"],
        &["dump", "x.lua"],
        &["dump", "x.lua", "--stage", "tea"],
        &["replay", "x.lua"],
        &["replay", "x.lua", "t.pcap", "--tier", "moon"],
        &["run", "lo"],
        &["run", "lo", "x.lua", "--mode", "fast"],
        &["run", "lo", "x.lua", "--on-error", "redirect"],
        &["run", "lo", "x.lua", "--duration", "0"],
        &["run", "lo", "x.lua", "--duration", "-1"],
        &["run", "lo", "x.lua", "--interval", "soon"],
        &["run", "lo", "x.lua", "--duration", "1000000001"],
        &["run", "lo", "x.lua", "--interval", "1e19"],
        &["run", "lo", "x.lua", "--interval", "inf"],
        &["run", "lo", "x.lua", "--budget", "0"],
        &["check", "x.lua", "--budget", "4294967296"],
        &["check", "x.lua", "--memory", "0"],
        &["check", "x.lua", "--memory", "16777217"],
        &["check", "x.lua", "--memory", "1GiB"],
        &["build", "x.lua", "-o", "x.o", "--cpus", "8193"],
        &["replay", "x.lua", "t.pcap", "--limit", "18446744073709551616"],
        &["bench", "x.lua", "--rounds", "0"],
        &["bench", "x.lua", "--rounds", "10001"],
        &["bench", "x.lua", "--repeat", "0"],
        &["bench", "x.lua", "--repeat", "2147483648"],
        &["bench", "x.lua", "--limit", "0"],
        &["bench", "x.lua", "--limit", "4294967296"],
        &["check", "x.lua", "--load-steps", "18446744073709551616"],
        &["check", "x.lua", "--load-memory", "18446744073709551616"],
        &["check", "x.lua", "--load-steps", "0"],
        &["check", "x.lua", "--load-memory", "0"],
        &["check", "x.lua", "--load-memory", "10 apples"],
        &["replay", "x.lua", "t.pcap", "--frags"],
        &["replay", "x.lua", "t.pcap", "--limit", "0"],
        &["run", "lo", "x.lua", "--name", "a/b"],
        &["reload"],
        &["stop", ".x"],
        &["run", "lo", "x.lua", "--name=-x"],
        &["run", "lo", "x.lua", "--name="],
        &["stop", "--", "-x"],
        &["exec", "x"],
        &["exec", "x", "x.lua", "-e", "1"],
        &["table", "x", "t", "frobnicate"],
        &["update-key"],
        &["send-update", "host", "1"],
        &["send-update", "host", "1", "x.lua"],
        &["send-update", "host", "1", "x.lua", "--key", "k", "--delete"],
        &["send-update", "host", "1", "x.lua", "--key", "k", "--port", "0"],
    ] {
        let run = place.run(arguments).ends_with(2);
        assert!(run.stderr().contains("--help"), "{arguments:?}: {}", run.stderr());
        assert_eq!(run.stdout(), "", "{arguments:?}");
    }
}

/// What an option takes, the stages take too.
#[test]
fn options_work_at_their_ends() {
    let place = Place::with(&[("x.lua", PASS)]);
    for option in [
        &["--budget", "1"],
        &["--budget", "4294967295"],
        &["--memory", "1"],
        &["--memory", "16MiB"],
        &["--load-memory", "18446744073709551615"],
        &["--load-steps", "18446744073709551615"],
    ] {
        for form in ["expanded", "general"] {
            place.run(&[&["check", "x.lua", "--form", form], &option[..]].concat()).ends_with(0);
        }
    }
}

#[test]
fn every_command_has_help_with_examples_and_exit_codes() {
    let place = Place::with(&[]);
    let help = place.run(&["--help"]).ends_with(0).stdout();
    assert!(help.contains("Exit codes"), "{help}");
    for command in [
        "run", "check", "build", "dump", "replay", "bench", "doctor", "explain", "list", "reload", "events",
        "stop",
    ] {
        assert!(help.contains(command), "{command} in:\n{help}");
        let help = place.run(&[command, "--help"]).ends_with(0).stdout();
        assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{help}");
        assert!(help.contains(&format!("moonhook {command}")), "{help}");
    }
}

#[test]
fn files_that_cannot_be_used() {
    let place = Place::with(&[("x.lua", PASS), ("text", "no capture")]);
    place.run(&["check", "--no-kernel", "none.lua"]).ends_with(3).complains("MH0101");
    place.run(&["build", "x.lua", "-o", "none/x.o"]).ends_with(3).complains("MH0001");
    place.run(&["build", "x.lua", "-o", "x.lua"]).ends_with(2).complains("MH0003");
    place
        .run(&["build", "x.lua", "-o", "x.o", "--form", "general", "--cpus", "8192"])
        .ends_with(1)
        .complains("MH0020");
    place.run(&["replay", "--tier", "user", "x.lua", "none.pcap"]).ends_with(3).complains("MH0601");
    place.run(&["replay", "--tier", "user", "x.lua", "text"]).ends_with(3).complains("MH0602");
    place.run(&["replay", "x.lua", "text", "--out", "text"]).ends_with(2).complains("MH0003");
    assert_eq!(std::fs::read_to_string(place.path("x.lua")).unwrap(), PASS);
    assert_eq!(std::fs::read_to_string(place.path("text")).unwrap(), "no capture");
}

#[test]
fn refused_scripts_end_with_1_and_show_the_line() {
    let place = Place::with(&[
        ("syntax.lua", "local x = = 1"),
        ("none.lua", "local xdp = require 'xdp'"),
        ("field.lua", "local xdp = require 'xdp'\nxdp.attach(function(pkt)\n  return pkt.tpc and 1\nend)"),
    ]);
    let shown =
        |script, code| place.run(&["check", "--no-kernel", script]).ends_with(1).complains(code).stderr();
    assert!(shown("syntax.lua", "MH0102").contains("local x = = 1"));
    shown("none.lua", "MH0104");
    let field = shown("field.lua", "MH0211");
    assert!(field.contains("field.lua:3") && field.contains("return pkt.tpc and 1"), "{field}");
    assert!(!field.contains('\x1b'), "no colours where standard error is no terminal");
}

/// A script that requires no module of hooks is none that should have attached something: it is a program in Lua, and is over when it has run. Where it is
/// said what it is for, it has to have handlers.
#[test]
fn scripts_without_handlers_are_run() {
    let place = Place::with(&[
        (
            "plain.lua",
            "local data, action = require 'data', require 'linux.xdp'\nprint('sum', #data.new(7) + action.PASS)",
        ),
        ("module.lua", "require 'helper' print 'end'"),
        ("helper.lua", "local netfilter = require 'netfilter'"),
        ("timer.lua", "timer.after(1000, print)"),
        ("fails.lua", "print 'begin' error 'no'"),
    ]);
    let run = |line: &str| place.shell(&format!("\"$MOONHOOK\" {line}"));
    let ran = run("run plain.lua").ends_with(0);
    assert_eq!(ran.stdout(), "sum\t9\n");
    assert_eq!(
        ran.stderr(),
        "note: plain.lua has no handlers, and requires no module that registers any: nothing is attached\n"
    );
    assert_eq!(run("run --quiet plain.lua plain.lua").ends_with(0).stderr(), "");
    assert_eq!(
        run("run --json plain.lua").ends_with(0).json(),
        serde_json::json!({"type": "over", "scripts": ["plain.lua"]})
    );
    assert_eq!(run("run --root . plain.lua").ends_with(0).stdout(), "sum\t9\n");
    for check in ["check plain.lua", "check --no-kernel plain.lua"] {
        let checked = run(check).ends_with(0);
        assert_eq!(checked.stdout(), "sum\t9\nnothing runs in the kernel\n");
        assert!(checked.stderr().contains("has no handlers"));
    }
    assert_eq!(
        run("check --no-kernel --json plain.lua").ends_with(0).json()["handlers"],
        serde_json::json!([])
    );
    for meant in [
        "run lo plain.lua",
        "run --hook tc.ingress plain.lua",
        "check --no-kernel --hook xdp plain.lua",
        "run module.lua",
        "check --no-kernel module.lua",
        "run timer.lua",
        "build plain.lua -o plain.o",
        "dump --stage ir plain.lua",
    ] {
        run(meant).ends_with(1).complains("MH0104");
    }
    run("run fails.lua").ends_with(1).complains("MH0103");
}

/// `attach` registers for the hook that is chosen, and nothing is chosen that scripts have no handler for.
#[test]
fn hooks_can_be_chosen() {
    let place = Place::with(&[
        (
            "any.lua",
            "local v = require 'linux.verdict'\nattach(function(pkt) if pkt.arp then return v.DROP end end)",
        ),
        ("fixed.lua", "require('xdp').attach(function() end) require('tc').ingress(function() end)"),
    ]);
    let checked = |script, hook: &str| place.run(&["check", "--no-kernel", script, "--hook", hook]);
    for (hook, section) in
        [("xdp", "xdp"), ("tc.ingress", "tcx/ingress"), ("tc.egress", "tcx/egress"), ("match", "for match")]
    {
        let shown = checked("any.lua", hook).ends_with(0).stdout();
        assert!(shown.contains(section), "{hook}: {shown}");
    }
    checked("any.lua", "netfilter").ends_with(1).complains("MH0103");
    checked("any.lua", "none").ends_with(2);
    checked("fixed.lua", "tc.ingress").ends_with(0);
    let refused = checked("fixed.lua", "tc.egress").ends_with(1).complains("MH0113").stderr();
    assert!(refused.contains("xdp, tc.ingress"), "{refused}");
}

#[test]
fn explain_knows_codes() {
    let place = Place::with(&[]);
    let list = place.run(&["explain"]).ends_with(0).stdout();
    assert_eq!(list.lines().count(), moonhook_cli::PAGES.len() + moonhook_cli::TOPICS.len());
    let page = place.run(&["explain", "mh101"]).ends_with(0).stdout();
    assert!(page.starts_with("# MH0101: "), "{page}");
    place.run(&["explain", "MH9999"]).ends_with(2).complains("MH0002");
}

/// A reader that ends early is no error.
#[test]
fn output_that_nobody_reads_is_no_error() {
    let place = Place::with(&[]);
    let moonhook = env!("CARGO_BIN_EXE_moonhook");
    let script =
        format!("set -o pipefail; for i in 1 2 3 4 5 6 7 8; do {moonhook} explain | head -c 1; done");
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stderr, b"");
    drop(place);
}

#[test]
fn scripts_that_do_not_run_cannot_be_reached() {
    let place = Place::with(&[("x.lua", PASS)]);
    let folder = ["--socket-dir", "run"];
    assert_eq!(place.run(&[&["list", "--json"][..], &folder].concat()).ends_with(0).stdout(), "[]\n");
    for command in ["reload", "events", "stop", "table"] {
        place.run(&[&[command, "x"][..], &folder].concat()).ends_with(3).complains("MH0804");
    }
    place.run(&[&["exec", "x", "-e", "1"][..], &folder].concat()).ends_with(3).complains("MH0804");
    place.run(&[&["exec", "x", "none.lua"][..], &folder].concat()).ends_with(3).complains("MH0012");
    place.run(&[&["table", "x", "t", "get", "1"][..], &folder].concat()).ends_with(3).complains("MH0804");
    place
        .run(&[&["run", "lo", "x.lua", "--pin", "--bpffs", "no-bpffs"][..], &folder].concat())
        .ends_with(3)
        .complains("MH0519");
    std::fs::write(place.path("run"), "").unwrap();
    place.run(&[&["run", "lo", "x.lua"][..], &folder].concat()).ends_with(3).complains("MH0801");
}

#[test]
fn updates_that_cannot_be_signed_or_sent_say_why() {
    let long = "-- ".to_string() + &"x".repeat(400_000);
    let place = Place::with(&[("f.lua", "function(pkt) end"), ("long.lua", &long)]);
    place.run(&["update-key", "k", "--json"]).ends_with(0);
    place.run(&["update-key", "k"]).ends_with(3).complains("MH0035");
    place.run(&["update-key", "no/folder"]).ends_with(3).complains("MH0035");
    let send = |host: &str, file: &str, key: &str| place.run(&["send-update", host, "1", file, "--key", key]);
    send("::1", "f.lua", "none").ends_with(3).complains("MH0012");
    send("::1", "f.lua", "k.pub").ends_with(3).complains("MH0032");
    send("::1", "long.lua", "k").ends_with(1).complains("MH0033");
    send("no.such.host.invalid", "f.lua", "k").ends_with(3).complains("MH0034");
}

/// A person who gives a name that cannot be one learns what names are.
#[test]
fn a_name_that_is_none_is_answered_with_what_names_are() {
    let place = Place::with(&[("x.lua", PASS)]);
    let long = format!("--name={}", "x".repeat(49));
    for (name, part) in [
        ("--name=-x", "`.` and `-` cannot be in front"),
        ("--name=a/b", "1 to 48 letters (A-Z, a-z), digits, `.`, `_` and `-`"),
        (long.as_str(), "it has 49 characters; a name has 1 to 48"),
    ] {
        let run = place.run(&["run", "lo", "x.lua", name]).ends_with(2);
        assert!(run.stderr().contains(part), "{}", run.stderr());
    }
}

/// The folder goes with its last script, so that nothing runs where there is none; who has mistyped it is told all the same.
#[test]
fn a_list_of_a_folder_that_is_not_there_says_so() {
    let place = Place::with(&[]);
    let run = place.run(&["list", "--json", "--socket-dir", "absent", "--bpffs", "absent"]).ends_with(0);
    assert_eq!(run.json(), serde_json::json!([]));
    assert_eq!(run.stderr(), "note: there is no folder 'absent'\n");
    let here = place.run(&["list", "--socket-dir", "."]).ends_with(0);
    let usual = place.shell("\"$MOONHOOK\" list").ends_with(0);
    assert_eq!((here.stderr(), usual.stderr()), (String::new(), String::new()));
}

/// Where the answer cannot be written, standard error says so.
#[test]
fn a_full_standard_output_is_not_passed_over_in_silence() {
    let place = Place::with(&[("x.lua", PASS)]);
    for arguments in ["list --json", "list", "check --no-kernel --json x.lua", "explain", "doctor --json"] {
        let run = place.shell(&format!("\"$MOONHOOK\" {arguments} >/dev/full"));
        let run = run.ends_with(3).complains("MH0008");
        assert!(run.stderr().contains("No space left"), "{arguments}: {}", run.stderr());
    }
}

/// Complaints that cannot be written change nothing of how it went.
#[test]
fn a_full_standard_error_changes_no_exit_code() {
    let place = Place::with(&[
        ("x.eclat", "def main():\n  return x\n"),
        ("x.lua", "require('xdp').attach(function(pkt) return 1 + end)"),
        ("good.lua", PASS),
    ]);
    for (arguments, code) in [
        ("check --no-kernel x.eclat", 1),
        ("check --no-kernel x.lua", 1),
        ("check --no-kernel none.lua", 3),
        ("check --no-kernel --log debug good.lua", 0),
        ("check", 2),
        ("list --socket-dir absent --bpffs absent", 0),
        ("list --json >/dev/full", 3),
    ] {
        place.shell(&format!("\"$MOONHOOK\" {arguments} 2>/dev/full")).ends_with(code);
    }
}

/// A signal ends what compiles a package, with the compiler and what both have begun; what a process has left that had no time for that goes
/// the next time.
#[test]
fn nothing_is_left_of_a_package_that_is_not_built() {
    let slow = "#!/bin/bash\ntouch begun\ntrap 'kill $!; exit 1' TERM\nsleep 600 &\nwait\n";
    let place = Place::with(&[("slow", slow)]);
    std::fs::create_dir_all(place.path("p/mine")).unwrap();
    std::fs::write(place.path("p/mine/a.bpf.c"), "HIKE_PROG(a) { return HIKE_XDP_VM; }\n").unwrap();
    let built = |signal: &str| {
        place.shell(&format!(
            "chmod +x slow; rm -f begun; export XDG_CACHE_HOME=$PWD/cache MOONHOOK_CLANG=$PWD/slow
             \"$MOONHOOK\" package build p/mine & pid=$!
             for i in $(seq 1000); do [ -e begun ] && break; sleep 0.02; done
             compiler=$(pgrep -P $pid)
             kill -{signal} $pid; wait $pid; code=$?
             for i in $(seq 100); do kill -0 $compiler 2>/dev/null || break; sleep 0.02; done
             [ {signal} = KILL ] && kill $compiler || ! kill -0 $compiler 2>/dev/null || exit 1
             ls -A cache/moonhook; exit $code"
        ))
    };
    assert_eq!(built("TERM").ends_with(143).stdout(), "");
    assert_eq!(built("HUP").ends_with(129).stdout(), "");
    let left = built("KILL").ends_with(137).stdout();
    assert!(left.starts_with(".build-"), "{left}");
    let then = "touch -d '1 minute ago' cache/moonhook/.build-*";
    place.shell(then).ends_with(0);
    assert_eq!(built("TERM").ends_with(143).stdout(), "");
}

/// The limit on the size of files stands for a full disk.
#[test]
fn a_file_that_cannot_be_written_whole_leaves_the_old_one() {
    let place = Place::with(&[("x.lua", BUSY)]);
    place.run(&["build", "x.lua", "-o", "x.o"]).ends_with(0);
    let whole = std::fs::read(place.path("x.o")).unwrap();
    let small = "trap '' XFSZ; ulimit -f 1;";
    place.shell(&format!("{small} \"$MOONHOOK\" build x.lua -o x.o")).ends_with(3).complains("MH0001");
    assert!(std::fs::read(place.path("x.o")).unwrap() == whole, "the object is another one");
    // A frame with that first byte passes.
    place.capture("t.pcap", &[0; 100]);
    let replay = "replay x.lua t.pcap --tier user --out out.pcap";
    place.shell(&format!("\"$MOONHOOK\" {replay}")).ends_with(0);
    let passed = std::fs::read(place.path("out.pcap")).unwrap();
    place.shell(&format!("{small} \"$MOONHOOK\" {replay}")).ends_with(3).complains("MH0606");
    assert!(std::fs::read(place.path("out.pcap")).unwrap() == passed, "the capture is another one");
    let mut names: Vec<_> =
        std::fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["out.pcap", "t.pcap", "x.lua", "x.o"]);
}
