//! Maps of all kinds: what a row of random operations gives, and what is in them afterwards.

use crate::common::Random;
use crate::support::{CPUS, Pair};

/// An operation on a map, as the frame says: the first byte what to do, then flags, key and value. What it gives is put in the frame. What has
/// been looked up is written, and read again after the element was replaced.
const OPERATION: &str = r#"
    struct value { u32 a; u16 b; u8 c, d; u64 e; };
    #define PROGRAM(name, key_type) SEC("xdp") int on_##name(struct xdp_md *ctx) { \
        u8 *d = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end; \
        if (d + 64 > end) return 1; \
        key_type key = *(key_type *)(d + 4); struct value value = *(struct value *)(d + 32); \
        s64 result = 0; \
        struct value *found = 0; \
        switch (d[0] % 5) { \
            case 0: result = update(&name, &key, &value, d[1] & 3); break; \
            case 1: result = delete(&name, &key); break; \
            case 2: \
                found = lookup(&name, &key); \
                if (!found) return 2; \
                found->a += value.a; found->c ^= value.c; \
                result = found->e + found->b; \
                break; \
            case 3: \
                found = lookup(&name, &key); \
                if (!found) return 3; \
                value.e += found->e; \
                result = update(&name, &key, &value, 2); \
                result = result * 1000 + found->e; \
                break; \
            default: \
                found = lookup(&name, &key); \
                if (!found) return 4; \
                __sync_fetch_and_add(&found->e, value.e); \
                result = found->e; \
        } \
        *(s64 *)(d + 56) = result; \
        return result; \
    }
    #define MAP(name, kind, key_type, most, flags) \
        struct { __uint(type, kind); __uint(max_entries, most); __uint(map_flags, flags); \
            __type(key, key_type); __type(value, struct value); } name SEC(".maps"); \
        PROGRAM(name, key_type)
    struct prefix { u32 length; u8 bits[4]; };
    struct long_key { u64 a; u16 b; u8 c[6]; };
"#;

const MAPS: &str = r#"
    MAP(hash, 1, u32, 6, 0)
    MAP(hash_of_long_keys, 1, struct long_key, 6, 1)
    MAP(array, 2, u32, 6, 0)
    MAP(hash_of_each_cpu, 5, u32, 6, 0)
    MAP(array_of_each_cpu, 6, u32, 6, 0)
    MAP(prefixes, 11, struct prefix, 6, 1)
"#;

fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame = random.bytes(64);
    // Few keys, so that they meet.
    frame[4..32].fill(0);
    frame[4] = random.below(8) as u8;
    frame
}

/// A length in bits, and bits of few kinds.
fn prefix_frame(random: &mut Random) -> Vec<u8> {
    let mut frame = frame(random);
    frame[4] = *random.one_of(&[0, 1, 7, 8, 9, 15, 16, 24, 31, 32, 32, 32, 33]);
    for byte in &mut frame[8..12] {
        *byte = *random.one_of(&[0, 0, 1, 0x80, 0xff]);
    }
    frame
}

#[test]
fn rows_of_operations() {
    for cpu in CPUS {
        let Some(mut pair) = Pair::new(&format!("{OPERATION}{MAPS}"), cpu) else { return };
        let mut random = Random(0x5eed_0005);
        for turn in 0..600 {
            for name in ["hash", "hash_of_long_keys", "array", "hash_of_each_cpu", "array_of_each_cpu"] {
                pair.run(&format!("on_{name}"), &frame(&mut random));
            }
            pair.run("on_prefixes", &prefix_frame(&mut random));
            if turn % 50 == 49 {
                // The kernel keeps the bits behind a prefix.
                pair.compare_maps(&["prefixes"]);
                pair.compare_prefixes("prefixes");
            }
        }
    }
}

/// As long as there is room, all are there; then the last that were used. Which others stay, the kernel does not say.
#[test]
fn least_recently_used() {
    let maps = "MAP(lru, 9, u32, 1000, 0) MAP(lru_of_each_cpu, 10, u32, 1000, 0)";
    for cpu in CPUS {
        let Some(mut pair) = Pair::new(&format!("{OPERATION}{maps}"), cpu) else { return };
        let mut random = Random(0x5eed_0006);
        for turn in 0..600 {
            for name in ["on_lru", "on_lru_of_each_cpu"] {
                pair.run(name, &frame(&mut random));
            }
            if turn % 50 == 49 {
                pair.compare_maps(&[]);
            }
        }
        for name in ["on_lru", "on_lru_of_each_cpu"] {
            let mut with_key = |what: u8, key: u32| {
                let mut frame = vec![0; 64];
                frame[0] = what;
                frame[4..8].copy_from_slice(&key.to_le_bytes());
                let (result, _) = pair.run(name, &frame);
                result.result
            };
            (1000..5000).for_each(|key| assert_eq!(with_key(0, key), 0));
            assert_eq!(with_key(2, 4999), 0);
        }
    }
}
