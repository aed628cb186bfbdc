//! `pkt.peer` in user space: what a process would be asked about when a packet begins a connection.

use etherparse::PacketBuilder;
use moonhook_hook::{CONNECT_4, CONNECT_6, Hook};
use moonhook_user::{Options, UserTier};

const SCRIPT: &str = "
    require('cgroup').connect('/', function(c)
      local peer = c.peer
      print(peer.proto, peer.address, peer.port, #c, c.ip, c.udp, c.ifindex)
      if peer.port == 25 then return 0 end
      peer.port = peer.port + 1
      print(pcall(function() peer.address = '::1' end))
      print(pcall(function() peer.address = '127.0.0.1' end))
      print(pcall(function() peer.port = 65536 end))
      print(pcall(function() peer.proto = 1 end))
      print(pcall(c.setstring, c, 0, ''))
      print(peer.address, peer.port)
    end)";

/// What the handler prints and decides at a hook, because of a frame.
fn asked(hook: &'static Hook, frame: &[u8]) -> (String, i32) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("ask.lua");
    std::fs::write(&script, SCRIPT).unwrap();
    let loaded = moonhook_load::load(&[script], &moonhook_load::Options::default()).unwrap();
    let point = loaded.snapshot.points().iter().find(|point| point.hook == hook).cloned().unwrap();
    let mut tier = UserTier::new(loaded, Options::default()).unwrap();
    let outcome = tier.run_at(&point, frame);
    assert_eq!((&outcome.error, outcome.data.as_slice()), (&None, frame));
    let lines: Vec<_> = outcome.output.iter().map(|line| String::from_utf8_lossy(line)).collect();
    (lines.join("\n"), outcome.verdict)
}

fn tcp(port: u16, six: bool, set: impl Fn(&mut etherparse::TcpHeader)) -> Vec<u8> {
    let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let mut header = etherparse::TcpHeader::new(1000, port, 7, 100);
    set(&mut header);
    let mut frame = Vec::new();
    let builder = match six {
        true => link.ipv6([1; 16], [0x20, 1, 13, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9], 64),
        false => link.ipv4([192, 0, 2, 1], [192, 0, 2, 9], 64),
    };
    builder.tcp_header(header).write(&mut frame, b"").unwrap();
    frame
}

#[test]
fn the_first_segment_asks_and_no_other_one() {
    let syn = |header: &mut etherparse::TcpHeader| header.syn = true;
    let (printed, verdict) = asked(&CONNECT_4, &tcp(80, false, syn));
    assert_eq!(verdict, 1);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "6\t192.0.2.9\t80\t0\tnil\tnil\tnil");
    assert!(lines[1].contains("bad value for field 'address' (address of the packet's IP version expected)"));
    assert_eq!(lines[2], "true");
    assert!(lines[3].contains("bad value for field 'port' (integer of 16 bits expected)"));
    assert!(lines[4].contains("'peer' has no field 'proto' that can be assigned"));
    assert!(lines[5].contains("read only"), "{}", lines[5]);
    assert_eq!(lines[6], "127.0.0.1\t81");
    let (printed, _) = asked(&CONNECT_6, &tcp(80, true, syn));
    assert_eq!(printed.lines().next(), Some("6\t2001:db8::9\t80\t0\tnil\tnil\tnil"));
    assert_eq!(asked(&CONNECT_4, &tcp(25, false, syn)).1, 0);

    for (hook, frame) in [
        (&CONNECT_6, tcp(25, false, syn)),
        (&CONNECT_4, tcp(25, true, syn)),
        (&CONNECT_4, tcp(25, false, |header| header.ack = true)),
        (&CONNECT_4, tcp(25, false, |header| (header.syn, header.ack) = (true, true))),
        (&CONNECT_4, vec![0; 60]),
        (&CONNECT_4, Vec::new()),
    ] {
        assert_eq!(asked(hook, &frame), (String::new(), 1));
    }
}

#[test]
fn a_datagram_asks() {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([192, 0, 2, 1], [192, 0, 2, 9], 64);
    builder.udp(1000, 53).write(&mut frame, b"x").unwrap();
    let (printed, verdict) = asked(&CONNECT_4, &frame);
    assert_eq!((printed.lines().next(), verdict), (Some("17\t192.0.2.9\t53\t0\tnil\tnil\tnil"), 1));
    // Every truncation is some frame, or asks for nothing.
    for length in 0..frame.len() {
        asked(&CONNECT_4, &frame[..length]);
    }
}
