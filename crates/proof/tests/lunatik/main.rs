//! Scripts that are written for Lunatik: what their handlers get and what their results mean, in both tiers and both forms.
//!
//! The scripts here are written to Lunatik's interfaces. Lunatik's own are tried too where `MOONHOOK_PEERS` names a folder with its
//! checkout (`luainkernel+lunatik`).

use moonhook_load::{At, Options};
use moonhook_proof::{corpus, host, pair::Pair, random::Random};
use std::path::{Path, PathBuf};

mod copies;
mod queue;
mod random;
mod random_copies;
mod tcx;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lunatik")
}

fn pair(root: &Path, script: &Path) -> Pair {
    pair_at(At::Link, root, script)
}

fn pair_at(at: At, root: &Path, script: &Path) -> Pair {
    let options = Options { root: Some(root.to_path_buf()), at: Some(at), ..Options::default() };
    let mut pair = Pair::with_options(script, &options).unwrap_or_else(|error| panic!("{error}"));
    if let Some(error) = pair.take_refused() {
        panic!("{}: {error}", script.display());
    }
    pair
}

/// IPv4 and UDP to that port, with that payload behind it, without an Ethernet header.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    let lengths = [28 + payload.len() as u16, 8 + payload.len() as u16].map(u16::to_be_bytes);
    let mut packet = vec![0x45, 0, lengths[0][0], lengths[0][1], 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x80, 0]);
    packet.extend(port.to_be_bytes());
    packet.extend([lengths[1][0], lengths[1][1], 0, 0]);
    packet.extend(payload);
    packet
}

fn in_frame(packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], packet].concat()
}

/// A question of DNS for a name.
fn question(name: &str) -> Vec<u8> {
    let mut message = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    in_frame(&datagram(53, &message))
}

/// Of netfilter.
const DROP: i32 = 0;
const ACCEPT: i32 = 1;

#[test]
fn results_are_verdicts_as_lua_tointeger_has_them() {
    if !host::kernel_available("scripts of Lunatik") {
        return;
    }
    let expected = [
        Ok(DROP),
        Ok(ACCEPT),
        Ok(DROP),
        Ok(DROP),
        Ok(DROP),
        Ok(ACCEPT),
        Ok(ACCEPT),
        Ok(ACCEPT),
        Ok(ACCEPT),
        Ok(DROP),
        // Of more than 32 bits the lower ones.
        Ok(DROP),
        Ok(ACCEPT),
        Ok(DROP),
        Err("no result"),
        Err("the packet's mark"),
        Err("bad argument #1 to 'data' (invalid option 'other')"),
        Err("bad argument #1 to 'data' (skb expected, got number)"),
        Ok(ACCEPT),
        Ok(ACCEPT),
        Ok(ACCEPT),
        Err("out of bounds"),
        Ok(ACCEPT),
        Err("'getstring' (out of bounds)"),
        Err("'getstring' (out of bounds)"),
        Err("'checksum' (out of bounds)"),
        Err("'setstring' (out of bounds)"),
        Err("'setuint8' (out of bounds)"),
        Err("'setuint8' on bad self (read only)"),
        Err("'setstring' on bad self (read only)"),
        // None of the list.
        Ok(ACCEPT),
    ];
    let mut pair = pair(&root(), &root().join("verdicts.lua"));
    for (number, expected) in expected.into_iter().enumerate() {
        let frame = in_frame(&datagram(7, &[number as u8, b'x']));
        let seen = pair.run(&frame).unwrap_or_else(|error| panic!("{error}"));
        let message = seen.error.as_ref().map(|text| text.lossy());
        match (expected, &message) {
            (Ok(verdict), None) => assert_eq!(seen.verdict, verdict, "{number}"),
            (Err(part), Some(message)) => assert!(message.contains(part), "{number}: {message}"),
            _ => panic!("{number}: {message:?} in the place of {expected:?}"),
        }
    }
}

#[test]
fn the_last_handler_is_the_first() {
    if !host::kernel_available("scripts of Lunatik") {
        return;
    }
    let mut pair = pair(&root(), &root().join("order.lua"));
    let seen = pair.run(&in_frame(&datagram(7, b"x"))).unwrap_or_else(|error| panic!("{error}"));
    let printed: Vec<_> = seen.output.iter().map(|line| line.lossy()).collect();
    // The argument says where the payload is: 42, behind the headers of Ethernet, IP and UDP.
    assert_eq!((seen.verdict, printed.join(" ").as_str()), (DROP, "first second xdp\t42"));
}

/// What the handlers of a script print, all in order, and what comes of a packet.
fn says(script: &str) -> (i32, Vec<String>) {
    let mut pair = pair(&root(), &root().join(script));
    let seen = pair.run(&in_frame(&datagram(7, b"x"))).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen.error.map(|text| text.lossy()), None);
    (seen.verdict, seen.output.iter().map(|line| line.lossy()).collect())
}

#[test]
fn a_table_may_be_registered_twice() {
    if !host::kernel_available("scripts of Lunatik") {
        return;
    }
    assert_eq!(says("twice.lua"), (ACCEPT, ["twice", "late", "twice"].map(String::from).to_vec()));
}

#[test]
fn modules_that_only_compute_are_there() {
    if !host::kernel_available("scripts of Lunatik") {
        return;
    }
    let (verdict, lines) = says("computing.lua");
    assert_eq!(verdict, ACCEPT);
    assert_eq!(lines, ["addresses!\t10.0.0.1\ttrue\t2", "32768\t7\t16909063"]);
}

/// Runs broken and whole frames, and questions for names, of which those in `dropped` are dropped.
fn decides_about_names(root: &Path, script: &Path, names: &[(&str, bool)]) {
    let mut pair = pair(root, script);
    for (name, is_dropped) in names {
        let seen = pair.run(&question(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Both programs, that for IPv4 and that for IPv6, are given the packet.
        let lines = if *is_dropped { 2 } else { 0 };
        assert_eq!((seen.verdict == DROP, seen.output.len()), (*is_dropped, lines), "{name}");
    }
    for (name, frame) in corpus::damaged(&mut Random::new(5), 60) {
        pair.run(&frame).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn names_are_filtered() {
    if !host::kernel_available("scripts of Lunatik") {
        return;
    }
    let names =
        [("blocked.example", true), ("www.blocked.example", true), ("open.example", false), ("bad", true)];
    decides_about_names(&root(), &root().join("names.lua"), &names);
}

#[test]
fn scripts_of_lunatik_run_as_they_are() {
    if !host::kernel_available("scripts of Lunatik") {
        return;
    }
    let Some(peers) = std::env::var_os("MOONHOOK_PEERS").map(PathBuf::from) else {
        host::note_skipped("scripts of Lunatik", "MOONHOOK_PEERS names no folder");
        return;
    };
    let root = peers.join("luainkernel+lunatik");
    // The script compares names as they are in messages, where a byte stands between labels, with patterns where a dot stands for it.
    let names = [("github.com", true), ("www.gitlab.com", true), ("example.com", false)];
    decides_about_names(&root, &root.join("examples/dnsblock/nf_dnsblock.lua"), &names);
}
