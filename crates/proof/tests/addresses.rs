//! Random texts that are nearly addresses, in both tiers and forms. `MOONHOOK_FUZZ_CASES` counts them.

use moonhook_proof::random::Random;
use moonhook_proof::{Pair, frames, host};
use std::net::{Ipv4Addr, Ipv6Addr};

const SEED: u64 = 1;

const CASES: u64 = 3000;

/// Texts of a packet.
const TEXTS: usize = 8;

const SCRIPT: &str = r#"
local ip, mac = require "ip", require "mac"
require("xdp").attach(function(pkt)
  for text in (pkt.payload or ""):gmatch("[^,]+") do
    local address, station = ip.parse(text), mac.parse(text)
    print(text, address, station)
    if address then print(ip.prefix(address, 19), ip.parse(address) == address) end
  end
end)
"#;

fn address(random: &mut Random) -> String {
    let mut bits = u128::from(random.word()) << 64 | u128::from(random.word());
    for group in 0..8 {
        if random.once_in(2) {
            bits &= !(0xffff << (16 * group));
        }
    }
    match random.below(4) {
        0 => Ipv4Addr::from(bits as u32).to_string(),
        1 => Ipv6Addr::from(bits).to_string(),
        2 => {
            let groups = Ipv6Addr::from(bits).segments();
            let count = random.below(9);
            let text: Vec<String> = groups[..count].iter().map(|group| format!("{group:X}")).collect();
            format!("{}{}", text.join(":"), random.pick(&["", "::", ":1.2.3.4", "::250.25.2.0"]))
        }
        _ => {
            let pairs = bits.to_be_bytes();
            let pairs: Vec<String> = pairs[..6].iter().map(|byte| format!("{byte:02x}")).collect();
            pairs.join(*random.pick::<&str>(&[":", "-"]))
        }
    }
}

/// An address, or one with some characters changed, left out or added.
fn text(random: &mut Random) -> String {
    let mut text: Vec<char> = address(random).chars().collect();
    for _ in 0..random.below(4) {
        let place = random.below(text.len() + 1);
        let other = char::from(*random.pick(b":::..-019afFgG /"));
        match random.below(3) {
            0 => text.insert(place, other),
            1 if place < text.len() => drop(text.remove(place)),
            _ if place < text.len() => text[place] = other,
            _ => text.push(other),
        }
    }
    text.into_iter().collect()
}

#[test]
fn addresses_of_texts_fuzz() {
    if !host::kernel_available("addresses of texts") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for the script");
    let script = folder.path().join("addresses.lua");
    std::fs::write(&script, SCRIPT).expect("the script can be written");
    let seed = host::setting("MOONHOOK_FUZZ_SEED", SEED);
    let cases = host::setting("MOONHOOK_FUZZ_CASES", CASES) as usize;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut tiers = Pair::in_both_forms(&script, false).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(tiers.forms(), (true, true), "expanded code has it, too");
    let (mut texts, mut addresses) = (0, 0);
    while texts < cases {
        let all: Vec<String> = (0..TEXTS).map(|_| text(&mut random)).collect();
        let seen = tiers.run(&frames::datagram(all.join(",").as_bytes()));
        let seen = seen.unwrap_or_else(|error| panic!("{all:#?}\n{error}"));
        assert_eq!(seen.error, None, "{all:#?}");
        texts += all.len();
        addresses += seen.output.len().saturating_sub(TEXTS);
    }
    assert!(addresses > texts / 10, "{addresses} of {texts} are addresses");
    println!("{texts} texts agree");
}
