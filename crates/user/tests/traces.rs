//! Every frame of a folder of traces through a handler that reads everything: no error, no crash, nothing changed.

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use common::{PASS, tier_with};
use moonhook_user::Options;
use moonhook_user::protocol::PROTOCOLS;

/// Reads every field of every protocol, and the first and last bytes by offset.
fn script() -> String {
    let mut body = String::from("local n = 0\nreturn function(pkt, arg)\n");
    for protocol in PROTOCOLS {
        let _ = writeln!(body, "local h = pkt.{} if h then n = n + 1", protocol.name);
        for field in protocol.fields() {
            let _ = writeln!(body, "local v = h.{0} assert(v == h.{0})", field.name);
        }
        body.push_str("end\n");
    }
    body.push_str(
        "assert(#tostring(pkt) == #pkt)
        if #pkt > 0 then assert(pkt:getbyte(#pkt - 1) == pkt:getstring(#pkt - 1):byte()) end
        local offset = arg:getbyte(0) << 8 | arg:getbyte(1)
        if pkt.tcp or pkt.udp then assert(pkt:getstring(offset):find(pkt.payload, 1, true) == 1) end
        assert(not pcall(pkt.getbyte, pkt, #pkt))
    end",
    );
    body
}

#[test]
fn every_frame_is_read() {
    let Some(folder) = std::env::var_os("MOONHOOK_TRACES") else {
        eprintln!("MOONHOOK_TRACES is not set: traces are not run");
        return;
    };
    let mut tier = tier_with(&script(), Options::default());
    let mut count = 0;
    for path in walk(Path::new(&folder)) {
        let Ok(capture) = moonhook_capture::open(&path) else { continue };
        for frame in capture.filter_map(Result::ok) {
            let outcome = tier.run(&frame.data);
            let place = format!("{} frame {}", path.display(), frame.number);
            assert_eq!((outcome.error, outcome.verdict), (None, PASS), "{place}");
            assert_eq!(outcome.data, frame.data, "{place}");
            count += 1;
        }
    }
    assert!(count > 0, "no frames in {}", Path::new(&folder).display());
    println!("{count} frames");
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
