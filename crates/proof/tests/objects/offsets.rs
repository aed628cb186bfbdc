//! Offsets whose bounds are known before a loop that calls a program in C: the verifier has to know them behind it as well, in both forms.

use crate::{Folder, own_options};
use moonhook_proof::{Pair, host};

const SCRIPTS: [&str; 6] = [
    "u64: o = count(1) & 31\n  u32: k = 0\n  while k < 5 and count(k):\n    k += 1\n  return Packet.readU8(o)",
    "u64: o = count(1) % 32\n  u32: k = 0\n  while k < 5 and count(k):\n    k += 1\n  return Packet.readU16(o)",
    "u64: o = count(1) >> 60\n  for i in range(0, 5):\n    count(i)\n  return Packet.readU64(o)",
    "u64: o = Packet.readU8(20) & 31\n  for i in range(0, 5): count(i)\n  Packet.writeU32(o, 7)",
    "u64: o = count(9) & 31\n  u32: k = 0\n  while k < 5 and count(k):\n    k += 1\n  Packet.writeU32(o, k)\n  Packet.writeU8(o + 4, 1)",
    "u64: o = Packet.readU8(0) & 31\n  u64: n = 0\n  while n < 5 and Packet.readU8(1):\n    n += 1\n  Packet.writeU8(o, n)",
];

#[test]
fn offsets_have_their_bounds_behind_loops() {
    if !host::kernel_available("offsets behind loops") {
        return;
    }
    let folder = Folder::new();
    for lines in SCRIPTS {
        let text = format!("from programs.own import count\ndef main():\n  {lines}\n");
        std::fs::write(folder.path("a.eclat"), &text).expect("there is room");
        let pair = Pair::with_options(&folder.path("a.eclat"), &own_options());
        let mut pair = pair.unwrap_or_else(|error| panic!("{text}: {error}"));
        let refused = pair.take_refused();
        assert!(refused.is_none(), "{text}: {refused:?}");
        for first in [0, 1, 31, 255] {
            let frame: Vec<u8> = (0..64).map(|at| if at % 20 == 0 { first } else { at }).collect();
            pair.run_named(&frame, || format!("{first}")).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
}
