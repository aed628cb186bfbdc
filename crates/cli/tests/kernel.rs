//! Answers that take the kernel. Each test is skipped, and says so, where the kernel refuses bpf().

mod common;

use common::{BUSY, PASS, Place, write_capture};
use moonhook_proof::host::kernel_available;
use serde_json::json;

#[test]
fn check_reports_what_the_verifier_saw() {
    if !kernel_available("check_reports_what_the_verifier_saw") {
        return;
    }
    let place = Place::with(&[("x.lua", BUSY)]);
    let report = place.run(&["check", "--json", "x.lua"]).ends_with(0).json();
    let kernel = &report["program"]["kernel"];
    assert!(kernel["verified_instructions"].as_u64().unwrap() > 10, "{kernel}");
    assert!(kernel["stack"].is_array(), "{kernel}");
    assert!(report["maps"].as_array().unwrap().iter().any(|map| map["name"] == "events"), "{report}");
    assert!(report["map_memory"].as_u64().unwrap() > 1 << 20, "{report}");
    let times = &report["timings_us"];
    assert!(times["total"].as_u64().unwrap() > times["kernel_load"].as_u64().unwrap(), "{times}");
    let text = place.run(&["check", "x.lua"]).ends_with(0).stdout();
    assert!(
        text.contains("verified instructions") && text.contains("accepted by the kernel's verifier"),
        "{text}"
    );
}

#[test]
fn both_tiers_agree() {
    if !kernel_available("both_tiers_agree") {
        return;
    }
    let place = Place::with(&[("x.lua", BUSY)]);
    place.capture("t.pcap", &[0, 1, 2, 3, 4, 1]);
    let both = place.run(&["replay", "--tier", "both", "x.lua", "t.pcap"]).ends_with(0).stdout();
    let user = place.run(&["replay", "--tier", "user", "-q", "x.lua", "t.pcap"]).ends_with(0).stdout();
    assert!(both.ends_with(&user), "{both}\n{user}");
    assert!(both.contains("print frame\t6\n"), "state carries over:\n{both}");
    assert!(both.contains("error x.lua:8: bad argument #1 to 'getbyte' (out of bounds)"), "{both}");
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

#[test]
fn bench_measures_against_an_empty_program() {
    if !kernel_available("bench_measures_against_an_empty_program") {
        return;
    }
    let place = Place::with(&[("x.lua", BUSY)]);
    place.capture("t.pcap", &[0, 4, 4]);
    let short = ["bench", "--rounds", "3", "--repeat", "1000", "--json", "x.lua"];
    let answer = place.run(&short).ends_with(0).json();
    let titles: Vec<_> =
        answer["works"].as_array().unwrap().iter().map(|work| work["title"].clone()).collect();
    assert_eq!(titles, ["TLS ClientHello", "HTTP GET", "UDP datagram", "ICMP echo"]);
    let answer = place.run(&[&short[..], &["t.pcap"]].concat()).ends_with(0).json();
    let work = &answer["works"][0];
    assert_eq!(work["verdicts"], json!({ "PASS": 1, "DROP": 2 }));
    let (min, median) =
        (work["program_ns"]["min"].as_f64().unwrap(), work["program_ns"]["median"].as_f64().unwrap());
    assert!(0.0 < min && min <= median, "{work}");
    place.capture("none.pcap", &[]);
    place.run(&["bench", "x.lua", "none.pcap"]).ends_with(3).complains("MH0004");
}

#[test]
fn run_refuses_what_is_not_there() {
    if !kernel_available("run_refuses_what_is_not_there") {
        return;
    }
    let place = Place::with(&[("x.lua", PASS)]);
    place.run(&["run", "moonhook-none", "x.lua"]).ends_with(3).complains("MH0511");
    place.run(&["run", "lo", "x.lua", "--netns", "moonhook-none"]).ends_with(3).complains("MH0512");
}

#[test]
fn doctor_says_that_scripts_can_run() {
    if !kernel_available("doctor_says_that_scripts_can_run") {
        return;
    }
    let place = Place::with(&[]);
    let host = place.run(&["doctor", "--json"]).ends_with(0).json();
    assert_eq!(host["usable"], true);
    assert!(host["features"].as_array().unwrap().iter().any(|feature| feature["name"] == "may_goto"));
    assert!(place.run(&["doctor"]).ends_with(0).stdout().contains("Scripts can run in this kernel."));
}
