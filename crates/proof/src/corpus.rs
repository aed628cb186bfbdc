//! Frames in quantity: every prefix of every kind of frame, damaged ones, random bytes, captures.

use crate::frames;
use crate::layers::{client_hello, eth, ipv4, ipv6, tcp, udp};
use crate::random::Random;
use moonhook_install::{FRAME_MIN, frame_max_linear};
use std::path::{Path, PathBuf};

/// A frame and what to call it.
pub type Named = (String, Vec<u8>);

/// One frame of each kind, and those that the examples decide about.
fn whole() -> Vec<Named> {
    let v4 = |proto, rest: &[u8]| eth(0x0800, &ipv4(proto, &[], rest));
    let http = frames::request(b"BadBot/1.0");
    let of_interest = [
        ("http", v4(6, &frames::to_port(80, tcp(&[], &http)))),
        ("http6", eth(0x86dd, &ipv6(6, &[], &frames::to_port(80, tcp(&[1; 12], &http))))),
        ("guarded path", v4(6, &tcp(&[], b"GET /admin/users HTTP/1.1\r\n"))),
        ("blocked name", v4(6, &tcp(&[], &client_hello(Some(b"blocked.example"))))),
        ("long sip", v4(17, &frames::to_port(5060, udp(&[b'x'; 160])))),
        ("words", v4(17, &udp(b"Offer of the day: the best offer"))),
        ("listed name", v4(17, &udp(&frames::question(b"a.Tracker.example")))),
        ("listed name6", eth(0x86dd, &ipv6(17, &[], &udp(&frames::question(b"ads.example.net"))))),
    ];
    let all = frames::named().into_iter().chain(of_interest);
    all.map(|(name, frame)| (name.to_string(), frame)).collect()
}

/// Every prefix of every kind of frame that the kernel takes.
pub fn truncated() -> Vec<Named> {
    let mut all = Vec::new();
    for (name, frame) in whole() {
        // What counts frames must have something to count.
        if name == "icmp" {
            all.extend(std::iter::repeat_n((name.clone(), frame.clone()), 120));
        }
        for length in FRAME_MIN..=frame.len() {
            all.push((format!("{name}/{length}"), frame[..length].to_vec()));
        }
    }
    all
}

/// Frames with some bytes replaced, so that lengths, versions and types lie.
pub fn damaged(random: &mut Random, count: usize) -> Vec<Named> {
    let whole = whole();
    let damage = |index| {
        let (name, frame) = random.pick(&whole);
        let mut frame = frame.clone();
        for _ in 0..=random.below(4) {
            // Headers rather than payloads, interesting values rather than any.
            let place = random.below(frame.len().min(120));
            frame[place] = *random.pick(&[
                0,
                1,
                0x45,
                0x46,
                0x4f,
                0x60,
                6,
                17,
                44,
                58,
                0x7f,
                0x80,
                0xff,
                random.clone().word() as u8,
            ]);
        }
        (format!("{name} damaged {index}"), frame)
    };
    (0..count).map(damage).collect()
}

/// Random bytes of random length, behind an ethertype that leads somewhere half of the time.
pub fn noise(random: &mut Random, count: usize) -> Vec<Named> {
    let one = |index| {
        let length = FRAME_MIN + random.below(200);
        let mut frame = random.bytes(length);
        if random.once_in(2) {
            let kind: u16 = *random.pick(&[0x0800, 0x86dd, 0x8100, 0x88a8]);
            frame[12..14].copy_from_slice(&kind.to_be_bytes());
            if let Some(first) = frame.get_mut(14) {
                *first = *random.pick(&[0x45, 0x46, 0x60, 0x61]);
            }
        }
        (format!("noise {index}"), frame)
    };
    (0..count).map(one).collect()
}

/// The frame with zeros behind it, so many that the kernel keeps it in several buffers.
pub fn lengthened(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len() + frame_max_linear(), 0);
    frame
}

/// The files below `folder` that are captures.
pub fn captures(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let of = |path: PathBuf| match path.is_dir() {
        true => captures(&path),
        false => vec![path],
    };
    paths.into_iter().flat_map(of).filter(|path| moonhook_capture::open(path).is_ok()).collect()
}
