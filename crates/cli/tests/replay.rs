//! What `moonhook replay` answers with the kernel tier. Each test is skipped, and says so, where the kernel refuses bpf().

mod common;

use common::{BUSY, PASS, Place, TIMES, times, write_capture};
use moonhook_proof::host::kernel_available;
use serde_json::json;

#[test]
fn both_tiers_agree() {
    if !kernel_available("both_tiers_agree") {
        return;
    }
    let place = Place::with(&[("x.lua", BUSY)]);
    place.capture("t.pcap", &[0, 1, 2, 3, 4, 1]);
    let both = place.run(&["replay", "--tier", "both", "x.lua", "t.pcap"]).ends_with(0).stdout();
    let user = place.run(&["replay", "--tier", "user", "x.lua", "t.pcap"]).ends_with(0).stdout();
    // The frames before them have tracebacks, which differ.
    let totals = user.find("6 frames: ").map(|at| &user[at..]).expect("totals");
    assert!(both.ends_with(totals), "{both}\n{user}");
    assert!(both.contains("print frame\t6\n"), "state carries over:\n{both}");
    assert!(both.contains("error x.lua:8: bad argument #1 to 'getbyte' (out of bounds)"), "{both}");
}

/// `--seed` is what `math.randomseed` takes, in both tiers, whatever load time has done.
#[test]
fn pseudo_random_numbers_are_the_same_in_both_tiers() {
    if !kernel_available("pseudo_random_numbers_are_the_same_in_both_tiers") {
        return;
    }
    let script = |first: &str| {
        format!(
            "{first} require('xdp').attach(function(pkt) print(math.random(100), math.random(0), math.random(-9, 9)) end)"
        )
    };
    let seeded = "local seeded = false local function seed() if not seeded then math.randomseed(-3) seeded = true end end";
    let other = script(seeded).replace("function(pkt) ", "function(pkt) seed() ");
    let place = Place::with(&[("x.lua", &script("print(math.random(100))")), ("other.lua", &other)]);
    place.capture("t.pcap", &[0, 1, 2, 3, 4, 1]);
    let prints = |arguments: &[&str]| {
        let shown = place.run(&[&["replay"], arguments, &["t.pcap"]].concat()).ends_with(0).stdout();
        let prints = shown.lines().filter(|line| line.trim_start().starts_with("print "));
        prints.map(str::to_string).collect::<Vec<_>>()
    };
    let both = prints(&["--tier", "both", "--seed=-3", "x.lua"]);
    assert_eq!(both.len(), 6, "{both:?}");
    assert_eq!(both, prints(&["--tier", "user", "--seed=-3", "x.lua"]));
    assert_eq!(both, prints(&["--tier", "both", "other.lua"]));
    assert_ne!(both, prints(&["--tier", "both", "--seed", "4", "x.lua"]));
}

/// The tiers count steps in different units, so a budget that one of them exhausts shows a difference.
#[test]
fn a_difference_is_listed_and_ends_with_1() {
    if !kernel_available("a_difference_is_listed_and_ends_with_1") {
        return;
    }
    let script = "require('xdp').attach(function(pkt)\n  local n = 0\n  for i = 1, #pkt do n = n + i * i end\n  \
                  if n == 0 then return 1 end\nend)";
    let place = Place::with(&[("x.lua", script)]);
    place.capture("t.pcap", &[0]);
    let arguments = ["replay", "--tier", "both", "--budget", "100", "--on-error", "drop", "x.lua", "t.pcap"];
    let shown = place.run(&arguments).ends_with(1).stdout();
    assert!(shown.contains("differs verdict: kernel PASS, user DROP"), "{shown}");
    assert!(shown.contains("differs error: kernel nothing, user step budget exhausted"), "{shown}");
    assert!(shown.contains("1 with differences between the tiers"), "{shown}");
    let answer = place.run(&[&arguments[..], &["--json"]].concat()).ends_with(1).json();
    assert_eq!(answer["frames"][0]["differences"][0]["what"], "verdict");
    assert_eq!(answer["totals"]["different"], 1);
}

#[test]
fn frames_that_the_kernel_cannot_take_are_counted() {
    if !kernel_available("frames_that_the_kernel_cannot_take_are_counted") {
        return;
    }
    let place = Place::with(&[("x.lua", PASS)]);
    write_capture(&place.path("t.pcap"), [13, 14, 3520, 100_000].iter().map(|length| vec![0; *length]));
    let answer = place.run(&["replay", "--json", "x.lua", "t.pcap"]).ends_with(0).json();
    let run: Vec<_> = answer["frames"].as_array().unwrap().iter().map(|f| f["not_run"].is_null()).collect();
    assert_eq!(run, [false, true, true, false]);
    assert_eq!(answer["totals"]["not_run"], 2);
}

/// A string put together at packet time, next to a variable that is kept: both are data of the program, of different sizes.
#[test]
fn a_counter_and_a_string_of_a_byte() {
    if !kernel_available("a_counter_and_a_string_of_a_byte") {
        return;
    }
    let script = "\
local count = 0
require('xdp').attach(function(pkt)
  count = count + 1
  print('number ' .. pkt:getbyte(9000))
end)";
    let place = Place::with(&[("x.lua", script)]);
    write_capture(&place.path("t.pcap"), [60, 9001].iter().map(|length| vec![0xa5; *length]));
    for options in [&[][..], &["--frags"]] {
        place.run(&[&["check", "x.lua"], options].concat()).ends_with(0);
    }
    let answer = place.run(&["replay", "--tier", "both", "--json", "x.lua", "t.pcap"]).ends_with(0).json();
    let error = "x.lua:4: bad argument #1 to 'getbyte' (out of bounds)";
    assert_eq!(answer["frames"][0]["error"]["message"], error);
    assert_eq!(answer["frames"][1]["prints"], json!(["number 165"]));
}

/// Frames in several buffers: reads and writes beyond the first one, and the bytes that pass.
#[test]
fn long_frames_run_through_a_program_of_their_own() {
    if !kernel_available("long_frames_run_through_a_program_of_their_own") {
        return;
    }
    let script = "\
require('xdp').attach(function(pkt)
  if #pkt <= 5000 then return end
  print(pkt:getbyte(5000), pkt:getuint32(4000), pkt:getstring(#pkt - 3, 3))
  pkt:setbyte(4999, 0xee)
  if pkt:getbyte(4999) ~= 0xee then error('the write is lost') end
  if pkt:getbyte(5000) == 0x44 then return 1 end
end)";
    let place = Place::with(&[("x.lua", script)]);
    let frame = |length: usize, marker: Option<u8>| {
        let mut frame: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        if let Some(marker) = marker {
            frame[5000] = marker;
        }
        frame
    };
    let frames = [
        frame(60, None),
        frame(3520, None),
        frame(3521, None),
        frame(9000, Some(0x44)),
        frame(9000, Some(0x45)),
        frame(65535, Some(0x44)),
    ];
    write_capture(&place.path("t.pcap"), frames.into_iter());
    let arguments = ["replay", "--tier", "both", "--json", "--out", "passed.pcap", "x.lua", "t.pcap"];
    let answer = place.run(&arguments).ends_with(0).json();
    let verdicts: Vec<_> =
        answer["frames"].as_array().unwrap().iter().map(|frame| frame["verdict"].clone()).collect();
    assert_eq!(verdicts, ["PASS", "PASS", "PASS", "DROP", "PASS", "DROP"]);
    let totals = &answer["totals"];
    assert_eq!((&totals["prints"], &totals["changed"], &totals["errors"]), (&json!(3), &json!(3), &json!(0)));
    let passed: Vec<_> =
        moonhook_capture::open(place.path("passed.pcap")).unwrap().map(|frame| frame.unwrap().data).collect();
    assert_eq!(passed.iter().map(Vec::len).collect::<Vec<_>>(), [60, 3520, 3521, 9000]);
    assert_eq!((passed[3][4998], passed[3][4999], passed[3][5000]), ((4998 % 251) as u8, 0xee, 0x45));
}

/// Frames that are longer than what the kernel hands out of them: their length and headers are right, and what is read behind its
/// limit is an error, in both forms.
#[test]
fn lengths_beyond_what_can_be_read_are_right() {
    if !kernel_available("lengths_beyond_what_can_be_read_are_right") {
        return;
    }
    let script = "\
require('xdp').attach(function(pkt)
  print(#pkt, pkt.udp.dport, pkt:getbyte(65000), pkt.ip.length)
  if pkt.udp.dport == 53 then return 1 end
  if pkt:getbyte(42) == 1 then print(pkt:getbyte(#pkt - 1)) end
  if pkt:getbyte(42) == 2 then print(#pkt.payload) end
  if pkt:getbyte(42) == 3 then print(#pkt:getstring(#pkt - 8)) end
  if pkt:getbyte(42) == 4 then print(#tostring(pkt)) end
  if pkt:getbyte(42) == 5 then print(pkt:getuint16(#pkt)) end
end)";
    let place = Place::with(&[("x.lua", script)]);
    let datagram = |port: u16, first: u8| {
        let mut payload = vec![7; 65507];
        payload[0] = first;
        let length = (payload.len() as u16 + 8).to_be_bytes();
        let udp = [&[3, 232], &port.to_be_bytes()[..], &length, &[0, 0], &payload].concat();
        let total = (udp.len() as u16 + 20).to_be_bytes();
        let ip =
            [&[0x45, 0], &total[..], &[0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2], &udp].concat();
        [&[2; 12], &[8, 0][..], &ip].concat()
    };
    let frames = [datagram(53, 0)].into_iter().chain((1..=5).map(|first| datagram(54, first)));
    write_capture(&place.path("t.pcap"), frames);
    let limit = "only the first 65279 bytes of a frame can be read";
    for form in ["expanded", "general"] {
        let answer = place.run(&["replay", "--json", "--form", form, "x.lua", "t.pcap"]).ends_with(0).json();
        assert_eq!(answer["frames"][0]["verdict"], "DROP", "{form}");
        let seen = |index: usize| {
            let frame = &answer["frames"][index];
            assert_eq!(frame["prints"], json!(["65549\t54\t7\t65535"]), "{form}, {index}");
            frame["error"]["message"].as_str().unwrap_or_default().split_once(": ").unwrap().1.to_string()
        };
        let errors: Vec<_> = (1..=5).map(seen).collect();
        let beyond = "bad argument #1 to 'getuint16' (out of bounds)";
        assert_eq!(errors, [limit, limit, limit, limit, beyond], "{form}");
    }
}

/// A variable is one variable, whatever the lengths of the frames.
#[test]
fn long_and_short_frames_share_state() {
    if !kernel_available("long_and_short_frames_share_state") {
        return;
    }
    let script = "local n = 0 require('xdp').attach(function(pkt) n = n + 1 print(n, #pkt) end)";
    let place = Place::with(&[("x.lua", script)]);
    let lengths = [60, 9000, 60, 4000, 13, 3520];
    write_capture(&place.path("t.pcap"), lengths.iter().map(|length| vec![0; *length]));
    let shown = place.run(&["replay", "--tier", "both", "x.lua", "t.pcap"]).ends_with(0).stdout();
    let prints: Vec<_> = shown.lines().filter_map(|line| line.trim().strip_prefix("print ")).collect();
    assert_eq!(prints, ["1\t60", "2\t9000", "3\t60", "4\t4000", "5\t3520"]);
    assert!(shown.contains("1 not run"), "{shown}");
}

/// What passes packets silently is said where packets are.
#[test]
fn replay_warns_of_fields_that_modules_do_not_have() {
    if !kernel_available("replay_warns_of_fields_that_modules_do_not_have") {
        return;
    }
    let script = "local xdp = require 'xdp'\nxdp.attach(function(pkt) return xdp.DROP end)";
    let place = Place::with(&[("x.lua", script)]);
    write_capture(&place.path("t.pcap"), [vec![0; 60]].into_iter());
    for form in ["expanded", "general"] {
        let run = place.run(&["replay", "--form", form, "x.lua", "t.pcap"]).ends_with(0);
        assert!(
            run.stderr().contains("warning[MH0220]: `xdp` has no `DROP`, this is nil\n --> x.lua:2"),
            "{form}"
        );
        assert!(run.stderr().contains("help: `linux.xdp` has `DROP`"), "{form}");
    }
}

/// Totals say why frames were not run.
#[test]
fn totals_tell_frames_without_packets_from_those_of_a_wrong_length() {
    if !kernel_available("totals_tell_frames_without_packets_from_those_of_a_wrong_length") {
        return;
    }
    let script = "require('cgroup').egress('/', function(pkt) print(#pkt) end)";
    let place = Place::with(&[("x.lua", script), ("y.lua", "require('xdp').attach(function() end)")]);
    let frame = |ethertype: u8, first: u8| {
        let headers: [u8; 10] = [first, 0, 0, 46, 0, 0, 0, 0, 64, 17];
        [[0; 12].as_slice(), &[8, ethertype], &headers, &[0; 36]].concat()
    };
    write_capture(&place.path("t.pcap"), [frame(6, 0), frame(0, 0x45), vec![0; 13]].into_iter());
    let shown = place.run(&["replay", "x.lua", "t.pcap"]).ends_with(0).stdout();
    assert!(shown.contains("\n2 not run: no IP packets, which are all that the hook gets\n"), "{shown}");
    assert!(!shown.contains("of that length"), "{shown}");
    let totals = &place.run(&["replay", "--json", "y.lua", "t.pcap"]).ends_with(0).json()["totals"];
    let counts = ["not_run", "not_run_no_ip", "not_run_length"].map(|name| totals[name].as_u64());
    assert_eq!(counts, [Some(1), Some(0), Some(1)], "{totals}");
}

/// In both tiers and both forms: what is compiled reads the time of the frame, too.
#[test]
fn handlers_in_a_replay_have_the_time_of_the_capture() {
    if !kernel_available("handlers_in_a_replay_have_the_time_of_the_capture") {
        return;
    }
    let place = Place::with(&[("x.lua", TIMES)]);
    let expected: Vec<_> = times(&place.path("t.pcap")).into_iter().map(|line| json!([line])).collect();
    for form in ["expanded", "general"] {
        let arguments = ["replay", "--tier", "both", "--json", "--form", form, "x.lua", "t.pcap"];
        let answer = place.run(&arguments).ends_with(0).json();
        let prints: Vec<_> =
            answer["frames"].as_array().unwrap().iter().map(|frame| frame["prints"].clone()).collect();
        assert_eq!(prints, expected, "{form}");
    }
}

/// So have programs in C: a bucket for one packet a second is full again as time goes on in the capture.
#[test]
fn programs_in_a_replay_have_the_time_of_the_capture() {
    if !kernel_available("programs_in_a_replay_have_the_time_of_the_capture") {
        return;
    }
    let script = "from programs.limits import token_bucket\nfrom programs.basics import accept, drop\n\
        def main():\n  if token_bucket(1, 1, 1): drop()\n  accept()\n";
    let place = Place::with(&[("x.eclat", script)]);
    let second = 1_000_000_000;
    common::write_capture_at(&place.path("t.pcap"), &[5, 5, 15, 15, 16].map(|time| time * second));
    let packages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages");
    for form in ["expanded", "general"] {
        let arguments = [
            "replay",
            "--tier",
            "both",
            "--json",
            "--form",
            form,
            "--packages",
            packages,
            "x.eclat",
            "t.pcap",
        ];
        let answer = place.run(&arguments).ends_with(0).json();
        let verdicts: Vec<_> =
            answer["frames"].as_array().unwrap().iter().map(|frame| frame["verdict"].clone()).collect();
        assert_eq!(verdicts, ["PASS", "DROP", "PASS", "DROP", "PASS"], "{form}");
    }
}

/// The largest budget is no small one, in either form.
#[test]
fn budgets_beyond_31_bits_are_as_large_as_they_say() {
    if !kernel_available("budgets_beyond_31_bits_are_as_large_as_they_say") {
        return;
    }
    let script =
        "require('xdp').attach(function(pkt) local n = 0 for i = 1, 1000 do n = n + #pkt end print(n) end)";
    let place = Place::with(&[("x.lua", script)]);
    place.capture("t.pcap", &[0]);
    for form in ["expanded", "general"] {
        for budget in ["2147483647", "2147483648", "4294967295"] {
            let options = ["--tier", "both", "--form", form, "--budget", budget];
            let shown = place.run(&[&["replay", "x.lua", "t.pcap"], &options[..]].concat()).ends_with(0);
            assert!(shown.stdout().contains("print 60000\n"), "{form} {budget}: {}", shown.stdout());
        }
    }
}

/// Kernels since 6.15 end loops after a quarter of a second, whatever the budget: that error has the budget's text, also where the loop is
/// the library's and another error has been caught before.
#[test]
fn what_takes_too_long_says_so() {
    if !kernel_available("what_takes_too_long_says_so") {
        return;
    }
    let script = |before: &str| {
        format!(
            "local many = {{}}
for i = 1, 3000 do many[i] = i end
require('xdp').attach(function(pkt)
  local sum = 0
  {before}
  for j = 1, 1 << 40 do
    for k in pairs(many) do
      for l, v in pairs(many) do sum = sum + v end
    end
  end
  many[1] = sum
end)"
        )
    };
    for (form, before) in [("expanded", ""), ("general", ""), ("general", "pcall(error, nil)")] {
        let place = Place::with(&[("x.lua", &script(before))]);
        place.capture("t.pcap", &[0]);
        let arguments = ["replay", "--budget", "2000000000", "--form", form, "x.lua", "t.pcap"];
        let shown = place.run(&arguments).ends_with(0).stdout();
        assert!(shown.contains("error step budget exhausted\n"), "{form} {before}: {shown}");
    }
}

/// Of several programs one is tried, which is said, or the one that was asked for.
#[test]
fn replay_tries_the_program_that_is_meant() {
    if !kernel_available("replay_tries_the_program_that_is_meant") {
        return;
    }
    let script = "\
require('cgroup').connect('/', function() end)
local match = require 'match'
match.attach('first', function() return false end)
match.attach('second', function() return true end)
require('tc').egress(function() end)";
    let place = Place::with(&[("x.lua", script)]);
    write_capture(&place.path("t.pcap"), std::iter::once([&[0; 12][..], &[8, 0], &[0x45; 40]].concat()));
    let tried = |arguments: &[&str]| {
        let run =
            place.run(&[&["replay", "--tier", "both", "x.lua", "t.pcap"], arguments].concat()).ends_with(0);
        (
            run.stdout().lines().find(|line| line.contains("frames:")).unwrap_or_default().to_string(),
            run.stderr(),
        )
    };
    let (verdicts, note) = tried(&[]);
    assert!(verdicts.contains("MISS 1"), "{verdicts}");
    assert!(
        note.contains("only what is at 'match first' is tried")
            && note.contains("'match second', 'tc.egress', 'cgroup.connect4 /'"),
        "{note}"
    );
    let (verdicts, note) = tried(&["--hook", "match"]);
    assert!(verdicts.contains("MISS 1"), "{verdicts}");
    assert!(note.contains("'match second'") && !note.contains("tc.egress"), "{note}");
    for (at, verdict) in [("match second", "MATCH 1"), ("tc.egress", "NEXT 1")] {
        let (verdicts, note) = tried(&["--at", at]);
        assert!(verdicts.contains(verdict) && note.is_empty(), "{verdicts} {note}");
    }
    place.run(&["bench", "x.lua", "--at", "match"]).ends_with(2).complains("MH0031");
}

/// Programs in C look at frames in one buffer: those that need several are not run, and the others are.
#[test]
fn long_frames_are_not_run_by_programs_in_c() {
    if !kernel_available("long_frames_are_not_run_by_programs_in_c") {
        return;
    }
    let packages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages");
    let script = "from programs.basics import count, accept\ndef main():\n  count(1)\n  accept()\n";
    let place = Place::with(&[("x.eclat", script)]);
    write_capture(&place.path("t.pcap"), [60, 4000, 100].into_iter().map(|length| vec![0; length]));
    for tier in ["kernel", "both"] {
        let arguments = ["replay", "--packages", packages, "--tier", tier, "x.eclat", "t.pcap"];
        let answer = place.run(&[&arguments[..], &["--json"]].concat()).ends_with(0).json();
        let totals = &answer["totals"];
        assert_eq!((&totals["not_run"], &totals["not_run_buffers"]), (&json!(1), &json!(1)), "{totals}");
        assert_eq!(totals["verdicts"], json!({ "PASS": 2 }));
        let shown = place.run(&arguments).ends_with(0).stdout();
        assert!(shown.contains("not run   4000 bytes: what the script calls in C"), "{shown}");
        assert!(shown.contains("\n1 not run: they need several buffers"), "{shown}");
    }
}

/// Each CPU has state of its own: all frames run on one.
#[test]
fn frames_run_on_one_cpu() {
    if !kernel_available("frames_run_on_one_cpu") {
        return;
    }
    let place = Place::with(&[("x.lua", PASS)]);
    write_capture(&place.path("t.pcap"), std::iter::repeat_n(vec![0; 60], 50_000));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_moonhook"));
    command.args(["replay", "--quiet", "--tier", "both", "x.lua", "t.pcap"]).current_dir(place.path("."));
    let mut running = command.stdout(std::process::Stdio::null()).spawn().expect("the command starts");
    let status = format!("/proc/{}/status", running.id());
    let mut is_pinned = false;
    while running.try_wait().expect("it can be waited for").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let cpus = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        is_pinned |= cpus.is_some_and(|cpus| cpus.trim().parse::<u32>().is_ok());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(is_pinned);
}
