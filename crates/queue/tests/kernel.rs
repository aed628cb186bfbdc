//! Queues in the kernel: UDP over the loopback interface of a network namespace of the test's own.

use moonhook_hook::{Family, NetfilterPlace};
use moonhook_queue::{Answer, Options, Packet, Queue, QueueError};
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use std::io::Write;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const LOCAL_IN: u32 = 1;
const LOCAL_OUT: u32 = 3;
const WAIT: Duration = Duration::from_millis(500);

/// Runs `test` in a network namespace with a loopback interface that is up, on a thread of its own.
fn isolated(name: &str, test: impl FnOnce() + Send) {
    let is_allowed = std::thread::scope(|scope| {
        let run = move || {
            if unshare(CloneFlags::CLONE_NEWNET).is_err() {
                return false;
            }
            raise_loopback();
            test();
            true
        };
        scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    if !is_allowed {
        skip(name, "network namespaces cannot be made");
    }
}

fn skip(name: &str, reason: &str) {
    assert!(std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_none(), "{name}: {reason}");
    if let Some(path) = std::env::var_os("MOONHOOK_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "queue {name}: {reason}")).unwrap();
    }
}

fn raise_loopback() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: integers and an array of them.
    let mut request: libc::ifreq = unsafe { zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    // SAFETY: the kernel reads name and flags.
    assert_eq!(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) }, 0);
}

fn place(family: Family, number: u32, mark: Option<u32>) -> NetfilterPlace {
    NetfilterPlace { family, number, priority: -7, defragments: false, mark }
}

fn pair(address: &str) -> (UdpSocket, UdpSocket) {
    let receiver = UdpSocket::bind((address, 0)).unwrap();
    receiver.set_read_timeout(Some(WAIT)).unwrap();
    let sender = UdpSocket::bind((address, 0)).unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    (sender, receiver)
}

fn set_mark(socket: &UdpSocket, mark: u32) {
    // SAFETY: the kernel reads one integer.
    let set = unsafe {
        let at = (&raw const mark).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MARK, at, 4)
    };
    assert_eq!(set, 0);
}

fn received(socket: &UdpSocket) -> Option<Vec<u8>> {
    let mut buffer = [0; 64];
    socket.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec())
}

fn taken(queue: &mut Queue) -> Packet {
    queue.next(WAIT).unwrap().expect("a packet")
}

const PLAIN: Answer<'_> = Answer { verdict: 1, bytes: None, mark: None, connection_mark: None };

#[test]
fn packets_wait_for_verdicts_and_new_bytes() {
    isolated("packets_wait_for_verdicts_and_new_bytes", || {
        for (address, family, header) in [("127.0.0.1", Family::Ipv4, 28), ("::1", Family::Ipv6, 48)] {
            let (sender, receiver) = pair(address);
            let mut queue =
                Queue::open(&place(family, LOCAL_IN, Some(0)), Options { passes_by: true }).unwrap();
            sender.send(b"dropped").unwrap();
            let packet = taken(&mut queue);
            assert_eq!(packet.bytes[header..], *b"dropped");
            assert_eq!((packet.input, packet.output, packet.mark), (1, 0, 0));
            queue.answer(&packet, &Answer { verdict: 0, ..PLAIN }).unwrap();
            sender.send(b"passed").unwrap();
            let packet = taken(&mut queue);
            queue.answer(&packet, &PLAIN).unwrap();
            assert_eq!(received(&receiver), Some(b"passed".to_vec()));
            // Without a checksum, as IPv4 allows it; over IPv6 the old one is made right by swapping two pairs of bytes.
            sender.send(b"abcdef").unwrap();
            let packet = taken(&mut queue);
            let mut bytes = packet.bytes.clone();
            bytes[header..header + 4].copy_from_slice(b"cdab");
            queue.answer(&packet, &Answer { bytes: Some(&bytes), ..PLAIN }).unwrap();
            assert_eq!(received(&receiver), Some(b"cdabef".to_vec()));
        }
    });
}

/// Which of several queues has a packet, and its number there.
fn taken_by_one(queues: &mut [Queue]) -> (usize, Packet) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        for (number, queue) in queues.iter_mut().enumerate() {
            if let Some(packet) = queue.next(Duration::ZERO).unwrap() {
                return (number, packet);
            }
        }
    }
    panic!("no packet has come");
}

#[test]
fn packets_of_a_pair_of_hosts_come_by_one_of_several_queues() {
    isolated("packets_of_a_pair_of_hosts_come_by_one_of_several_queues", || {
        // Numbers that are taken are none of theirs.
        let taken = Queue::for_rules(Options { passes_by: true }, 2).unwrap();
        let mut queues =
            Queue::open_several(&place(Family::Ipv4, LOCAL_IN, None), Options { passes_by: true }, 4)
                .unwrap();
        let numbers: Vec<u16> = queues.iter().map(Queue::number).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]) && !numbers.contains(&taken.number()));
        let receiver = UdpSocket::bind("0.0.0.0:0").unwrap();
        receiver.set_read_timeout(Some(WAIT)).unwrap();
        let port = receiver.local_addr().unwrap().port();
        let mut used = std::collections::BTreeSet::new();
        for host in 1..40 {
            let address = format!("127.0.0.{host}");
            let sender = UdpSocket::bind((address.as_str(), 0)).unwrap();
            let mut own = None;
            for number in 0..3u8 {
                sender.send_to(&[number], ("127.0.0.77", port)).unwrap();
                let (queue, packet) = taken_by_one(&mut queues);
                assert_eq!(*own.get_or_insert(queue), queue, "{address}");
                queues[queue].answer(&packet, &PLAIN).unwrap();
                assert_eq!(received(&receiver), Some(vec![number]));
            }
            used.extend(own);
        }
        assert_eq!(used.len(), 4, "{used:?}");
        // One that closes ends all; what waits is answered by whoever has it.
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(b"waits", ("127.0.0.77", port)).unwrap();
        let (queue, packet) = taken_by_one(&mut queues);
        let last = queues.remove(queue);
        queues.iter_mut().for_each(|queue| queue.close().unwrap());
        drop(queues);
        sender.send_to(b"passes", ("127.0.0.77", port)).unwrap();
        assert_eq!(received(&receiver), Some(b"passes".to_vec()));
        let mut last = last;
        last.answer(&packet, &PLAIN).unwrap();
        assert_eq!(received(&receiver), Some(b"waits".to_vec()));
    });
}

#[test]
fn only_packets_with_the_mark_are_queued_and_marks_can_be_set() {
    isolated("only_packets_with_the_mark_are_queued_and_marks_can_be_set", || {
        let (sender, receiver) = pair("127.0.0.1");
        let options = Options { passes_by: true };
        let mut out = Queue::open(&place(Family::Ipv4, LOCAL_OUT, Some(0x403)), options).unwrap();
        let mut in_ = Queue::open(&place(Family::Ipv4, LOCAL_IN, Some(0x404)), options).unwrap();
        sender.send(b"plain").unwrap();
        assert_eq!(received(&receiver), Some(b"plain".to_vec()));
        set_mark(&sender, 0x403);
        sender.send(b"marked").unwrap();
        let packet = taken(&mut out);
        assert_eq!((packet.mark, packet.input, packet.output), (0x403, 0, 1));
        out.answer(&packet, &Answer { mark: Some(0x404), ..PLAIN }).unwrap();
        let packet = taken(&mut in_);
        assert_eq!(packet.mark, 0x404);
        in_.answer(&packet, &PLAIN).unwrap();
        assert_eq!(received(&receiver), Some(b"marked".to_vec()));
    });
}

#[test]
fn packets_pass_by_when_the_queue_has_gone() {
    isolated("packets_pass_by_when_the_queue_has_gone", || {
        let (sender, receiver) = pair("127.0.0.1");
        let mut queue =
            Queue::open(&place(Family::Ipv4, LOCAL_IN, None), Options { passes_by: true }).unwrap();
        // Another queue of the same place gets a number of its own.
        let other = Queue::open(&place(Family::Ipv4, LOCAL_IN, None), Options { passes_by: true }).unwrap();
        drop(other);
        queue.close().unwrap();
        sender.send(b"closed").unwrap();
        assert_eq!(received(&receiver), Some(b"closed".to_vec()));
        drop(queue);
        sender.send(b"gone").unwrap();
        assert_eq!(received(&receiver), Some(b"gone".to_vec()));
    });
}

#[test]
fn marks_of_connections_are_read_and_written_where_they_are_followed() {
    isolated("marks_of_connections_are_read_and_written_where_they_are_followed", || {
        let (sender, receiver) = pair("127.0.0.1");
        let options = Options { passes_by: true };
        let mut queue = Queue::open(&place(Family::Ipv4, LOCAL_OUT, None), options).unwrap();
        sender.send(b"first").unwrap();
        let packet = taken(&mut queue);
        // Nobody in this namespace wants connections to be followed.
        assert_eq!(packet.connection_mark, None);
        queue.answer(&packet, &Answer { connection_mark: Some(7), ..PLAIN }).unwrap();
        assert_eq!(received(&receiver), Some(b"first".to_vec()));
    });
}

#[test]
fn who_may_not_is_told_so() {
    isolated("who_may_not_is_told_so", || {
        caps::drop(None, caps::CapSet::Effective, caps::Capability::CAP_NET_ADMIN).unwrap();
        let opened = Queue::open(&place(Family::Ipv4, LOCAL_IN, None), Options { passes_by: true });
        assert!(matches!(opened, Err(QueueError::Refused { .. })), "without the capability");
    });
}

#[test]
fn what_was_waiting_is_not_lost_by_close() {
    isolated("what_was_waiting_is_not_lost_by_close", || {
        let (sender, receiver) = pair("127.0.0.1");
        let mut queue =
            Queue::open(&place(Family::Ipv4, LOCAL_IN, None), Options { passes_by: true }).unwrap();
        for number in 0..20u8 {
            sender.send(&[number]).unwrap();
        }
        queue.close().unwrap();
        let begin = Instant::now();
        for number in 0..20u8 {
            let packet = taken(&mut queue);
            queue.answer(&packet, &PLAIN).unwrap();
            assert_eq!(received(&receiver), Some(vec![number]));
        }
        assert!(begin.elapsed() < 20 * WAIT);
    });
}

#[test]
fn a_closed_queue_lets_pass_what_comes_and_keeps_what_waits() {
    isolated("a_closed_queue_lets_pass_what_comes_and_keeps_what_waits", || {
        let (sender, receiver) = pair("127.0.0.1");
        let mut queue = Queue::for_rules(Options { passes_by: false }, 7).unwrap();
        let number = queue.number().to_string();
        let rule = ["-w", "-A", "INPUT", "-p", "udp", "-j", "NFQUEUE", "--queue-num", &number];
        let added = std::process::Command::new("iptables").args(rule).output();
        if !added.is_ok_and(|added| added.status.success()) {
            return skip(
                "a_closed_queue_lets_pass_what_comes_and_keeps_what_waits",
                "iptables adds no rule for a queue",
            );
        }
        sender.send(b"waits").unwrap();
        sender.send(b"drops").unwrap();
        queue.close().unwrap();
        sender.send(b"passes").unwrap();
        assert_eq!(received(&receiver), Some(b"passes".to_vec()));
        let waits = taken(&mut queue);
        queue.answer(&waits, &PLAIN).unwrap();
        assert_eq!(received(&receiver), Some(b"waits".to_vec()));
        let drops = taken(&mut queue);
        queue.answer(&drops, &Answer { verdict: 0, ..PLAIN }).unwrap();
        assert!(queue.next(Duration::ZERO).unwrap().is_none());
        assert_eq!(received(&receiver), None);
    });
}
