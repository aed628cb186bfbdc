//! Answers that take the kernel. Each test is skipped, and says so, where the kernel refuses bpf().

mod common;

use common::{BUSY, PASS, Place};
use moonhook_proof::host::kernel_available;
use serde_json::json;

#[test]
fn check_reports_what_the_verifier_saw() {
    if !kernel_available("check_reports_what_the_verifier_saw") {
        return;
    }
    let place = Place::with(&[("x.lua", BUSY)]);
    let report = place.run(&["check", "--json", "x.lua"]).ends_with(0).json();
    let kernel = &report["programs"][0]["kernel"];
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

/// The sum of all parts is what the kernel says, for either form.
#[test]
fn check_shows_where_verified_instructions_go() {
    if !kernel_available("check_shows_where_verified_instructions_go") {
        return;
    }
    let script = "\
local function twice(x)
  return x + x
end
require('xdp').attach(function(pkt)
  print(twice(#pkt))
end)";
    let place = Place::with(&[("x.lua", script)]);
    for form in ["expanded", "general"] {
        let report = place.run(&["check", "--json", "--costs", "--form", form, "x.lua"]).ends_with(0).json();
        let parts = report["program"]["costs"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| part["verified"].as_u64().unwrap()).sum();
        assert_eq!(report["programs"][0]["kernel"]["verified_instructions"], sum, "{form}");
        let twice = parts.iter().find(|part| part["place"] == "x.lua:1").expect("the function is listed");
        assert_eq!((&twice["name"], &twice["kind"]), (&json!("twice"), &json!("function")));
        assert!(twice["verified"].as_u64().unwrap() > 0, "{twice}");
        assert!(parts.iter().any(|part| part["kind"] == "program" && part["place"].is_null()), "{form}");
    }
    let text = place.run(&["check", "--costs", "--form", "general", "x.lua"]).ends_with(0).stdout();
    assert!(text.contains("    verified  instructions  part\n"), "{text}");
    assert!(text.contains("  all\n") && text.contains("unit_0: dispatch and library functions\n"), "{text}");
}

/// The verifier takes seconds to write down each of the 200,000 instructions that it walks here.
#[test]
fn check_does_not_wait_for_what_nobody_asked_for() {
    if !kernel_available("check_does_not_wait_for_what_nobody_asked_for") {
        return;
    }
    let rule = |n: usize| {
        format!("  if ip.src == '10.0.{}.{}' and tcp.dport == {n} then return 1 end\n", n / 250, n % 250)
    };
    let rules: String = (1000..2400).map(rule).collect();
    let script = format!(
        "require('xdp').attach(function(pkt)\n  local ip, tcp = pkt.ip, pkt.tcp\n  if not tcp then return end\n{rules}end)"
    );
    let place = Place::with(&[("x.lua", &script)]);
    let report = place.run(&["check", "--json", "x.lua"]).ends_with(0).json();
    let parts = report["program"]["costs"].as_array().unwrap();
    assert!(parts.iter().all(|part| part["verified"].is_null()), "{parts:?}");
    let text = place.run(&["check", "x.lua"]).ends_with(0).stdout();
    assert!(text.contains("`--costs`"), "{text}");
    place.run(&["check", "--costs", "--no-kernel", "x.lua"]).ends_with(2);
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
