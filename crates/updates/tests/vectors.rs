//! The datagrams that docs/updates.md shows are those that the format makes.

use moonhook_updates::{Datagram, Operation, SecretKey, Update};

/// The secret key of the first test of RFC 8032 § 7.1.
const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The blocks of hexadecimal digits in the page, in order.
fn shown() -> Vec<Vec<u8>> {
    let page = include_str!("../../../docs/updates.md");
    let mut blocks = vec![String::new()];
    for line in page.lines() {
        let digits =
            line.strip_prefix("    ").filter(|line| line.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits {
            Some(digits) => blocks.last_mut().unwrap().push_str(digits),
            None if !blocks.last().unwrap().is_empty() => blocks.push(String::new()),
            None => {}
        }
    }
    blocks.iter().filter(|block| !block.is_empty()).map(|block| bytes(block)).collect()
}

#[test]
fn the_vectors_of_the_page_are_right() {
    let key = SecretKey::of_seed(&bytes(SEED).try_into().unwrap());
    let set = Update {
        operation: Operation::Set,
        sequence: 1_800_000_000_000_000,
        receiver: "edge".into(),
        table: "flows".into(),
        key: "src=192.0.2.7,dport=53".into(),
        text: "function(pkt) return 1 end".into(),
    };
    let delete = Update {
        operation: Operation::Delete,
        sequence: 1_800_000_000_000_001,
        receiver: String::new(),
        table: String::new(),
        text: String::new(),
        ..set.clone()
    };
    let made: Vec<Vec<u8>> =
        [set, delete].iter().flat_map(|update| update.datagrams(&key).unwrap()).collect();
    let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(made.iter().map(hex).collect::<Vec<_>>(), shown().iter().map(hex).collect::<Vec<_>>());
    for datagram in &made {
        assert!(Datagram::parse(datagram).unwrap().is_signed_by(&key.public()));
    }
}
