//! What `bench` answers, which takes the kernel. Each test is skipped, and says so, where the kernel refuses bpf().

mod common;

use common::{BUSY, Place, write_capture, write_capture_at};
use moonhook_proof::host::kernel_available;
use serde_json::json;

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
    write_capture(&place.path("long.pcap"), std::iter::once(vec![4; 9000]));
    place.run(&[&short[..], &["long.pcap"]].concat()).ends_with(3);
    let answer = place.run(&[&short[..], &["long.pcap", "--frags"]].concat()).ends_with(0).json();
    assert_eq!(answer["works"][0]["verdicts"], json!({ "DROP": 1 }));
    place.capture("none.pcap", &[]);
    place.run(&["bench", "x.lua", "none.pcap"]).ends_with(3).complains("MH0004");
}

/// At tc the kernel runs no packet whose IP header is not whole; the others are measured.
#[test]
fn bench_leaves_out_what_the_kernel_does_not_run() {
    if !kernel_available("bench_leaves_out_what_the_kernel_does_not_run") {
        return;
    }
    let place = Place::with(&[("x.lua", "require 'tc'.ingress(function(p) return #p > 40 and 2 or 0 end)")]);
    let ip = |length: usize| {
        let mut frame = vec![0; length];
        (frame[12], frame[14]) = (8, 0x45);
        frame
    };
    write_capture(&place.path("t.pcap"), [ip(60), ip(20), ip(40), ip(30)].into_iter());
    let answer = place.run(&["bench", "--rounds", "3", "--repeat", "1000", "--json", "x.lua", "t.pcap"]);
    let work = answer.ends_with(0).json()["works"][0].clone();
    assert_eq!((&work["frames"], &work["verdicts"]), (&json!(2), &json!({ "DROP": 1, "PASS": 1 })));
    write_capture(&place.path("none.pcap"), std::iter::once(ip(20)));
    place.run(&["bench", "x.lua", "none.pcap"]).ends_with(3).complains("MH0004");
}

/// Each run has the frame as it was: no handler comes to another end in later turns, and what it costs is what the same code costs that
/// leaves the frame as it is, as far as a loaded machine tells.
#[test]
fn bench_restores_frames_that_are_changed() {
    if !kernel_available("bench_restores_frames_that_are_changed") {
        return;
    }
    let handler = |(module, function): (&str, &str), change: &str| {
        format!(
            "require('{module}').{function}(function(pkt)
               if pkt.ip and pkt.ip.ttl == 1 then error('old') end
               {change}
               return redirect(1)
             end)"
        )
    };
    let changes = [
        ("pkt.ip.ttl = pkt.ip.ttl - 1", true),
        ("pkt.ip.ttl = 64", false),
        ("pkt:encap('192.0.2.1', '192.0.2.2')", true),
        ("pkt:grow(20)", true),
        ("pkt:push_vlan(7)", true),
    ];
    for hook in [("xdp", "attach"), ("tc", "ingress")] {
        for form in ["expanded", "general"] {
            for (change, restored) in changes {
                let place = Place::with(&[("x.lua", &handler(hook, change))]);
                let short = ["bench", "--rounds", "3", "--repeat", "300", "--form", form, "x.lua"];
                let answer = place.run(&[&short[..], &["--json"]].concat()).ends_with(0).json();
                for work in answer["works"].as_array().unwrap() {
                    let what = format!("{hook:?} {form} {change}: {work}");
                    assert_eq!(work["restored"], restored, "{what}");
                    assert_eq!(work["verdicts"], json!({ "REDIRECT": 1 }), "{what}");
                    let median = |cost: &str| work[cost]["median"].as_f64().unwrap();
                    assert!(0.0 < median("empty_ns") && 0.0 < median("program_ns"), "{what}");
                }
                let text = place.run(&short).ends_with(0).stdout();
                assert_eq!(text.contains("REDIRECT; frame restored for each run"), restored, "{text}");
            }
        }
    }
}

/// With the times of a capture whose frames lie seconds apart handlers decide as in a replay, with the kernel's clock as if all came at once.
#[test]
fn bench_can_have_the_time_of_the_capture() {
    if !kernel_available("bench_can_have_the_time_of_the_capture") {
        return;
    }
    let script = "local linux, action = require 'linux', require 'linux.xdp'
        local begin = linux.time()
        require('xdp').attach(function()
          if linux.difftime(linux.time(), begin) > 3500000000000 then return action.DROP end
        end)";
    let place = Place::with(&[("x.lua", script)]);
    let hours: Vec<u64> = (0..3).map(|hour| 1_700_000_000_000_000_000 + hour * 3_600_000_000_000).collect();
    write_capture_at(&place.path("t.pcap"), &hours);
    let verdicts = |more: &[&str]| {
        let short = ["bench", "--rounds", "1", "--repeat", "10", "--json", "x.lua", "t.pcap"];
        place.run(&[&short, more].concat()).ends_with(0).json()["works"][0]["verdicts"].clone()
    };
    assert_eq!(verdicts(&[]), json!({ "PASS": 3 }));
    assert_eq!(verdicts(&["--capture-time"]), json!({ "PASS": 1, "DROP": 2 }));
    place.run(&["bench", "x.lua", "--capture-time"]).ends_with(2);
}
