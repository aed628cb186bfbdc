//! Functions, callbacks, variables of all sections, and what helpers give.

use crate::common::Random;
use crate::support::{CPUS, Pair};

fn each(source: &str, frames: usize, length: usize, programs: &[&str]) {
    for cpu in CPUS {
        let Some(mut pair) = Pair::new(source, cpu) else { return };
        let mut random = Random(0x5eed_0002);
        for _ in 0..frames {
            let frame = random.bytes(length);
            programs.iter().for_each(|program| drop(pair.run(program, &frame)));
        }
        pair.compare_maps(&[]);
    }
}

/// A program's beginning: `d` is a packet of 64 bytes.
const BEGIN: &str = "
#define BEGIN u8 *d = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end; if (d + 64 > end) return 1;
";

#[test]
fn functions_call_one_another() {
    let source = r#"
        static noinline u32 leaf(u8 *at, s16 by) { at[1] ^= by; return at[0] * by; }
        static noinline s64 middle(u8 *at, u32 a, s64 b, u8 c) {
            u8 local[32] = {};
            local[c & 31] = a;
            *(volatile u8 *)local;
            return leaf(local + (c & 15), b) + local[(c & 15) + 1] - b + leaf(at, c);
        }
        noinline int global(struct xdp_md *ctx, u32 number) {
            u8 *d = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
            d += number & 31;
            if (d + 8 > end) return -1;
            d[1] += number;
            return *(s16 *)(d + 3) * 3;
        }
        static noinline u64 five(u64 a, u64 b, u64 c, u64 d, u64 e) { return a + b * 3 + c * 5 + d * 7 + e * 11; }
        SEC("xdp") int main_program(struct xdp_md *ctx) {
            BEGIN
            u8 copy[8];
            for (int i = 0; i < 8; i++) copy[i] = d[i + 3];
            s64 sum = middle(copy, *(u32 *)(d + 30), *(s64 *)(d + 40), d[50]);
            sum += copy[0] + copy[1];
            sum += five(d[1], *(u16 *)(d + 5), *(s8 *)(d + 6), sum, *(u32 *)(d + 8));
            *(s64 *)(d + 56) = sum;
            sum += global(ctx, sum) + global(ctx, sum >> 5);
            return sum + ctx->ingress_ifindex * 5 + ctx->rx_queue_index;
        }"#;
    each(&format!("{BEGIN}{source}"), 100, 64, &["main_program"]);
}

#[test]
fn variables_stay_from_call_to_call() {
    let source = r#"
        struct row { u16 a; s32 b; u8 c[5]; };
        static const struct row rows[] = {{1, -2, {3, 4}}, {65535, 7, {8}}, {9, -1000000, {255, 254, 253, 252, 251}}, {1}};
        static volatile const u64 factor = 0x123456789abcdefULL;
        u64 sum = 5; s16 last[16] = {1, -1};
        u32 calls; struct row seen; static u8 many[300];
        SEC("xdp") int count(struct xdp_md *ctx) {
            BEGIN
            u64 number = d[2] & 3;
            asm volatile("" : "+r"(number));
            const struct row *row = &rows[number];
            seen.a += row->a; seen.b ^= row->b; seen.c[calls & 3] += row->c[number];
            sum = sum * factor + *(u64 *)(d + 8);
            last[calls & 15] = sum >> 3;
            many[d[5]] += 1 + many[d[6]];
            calls++;
            return sum ^ last[d[7] & 15];
        }
        SEC("xdp") int add(struct xdp_md *ctx) {
            BEGIN
            u64 by = *(u64 *)(d + 16); u32 small = by;
            u64 got = __sync_fetch_and_add(&sum, by) ^ __sync_fetch_and_or(&sum, by >> 3);
            got += __sync_fetch_and_and(&sum, ~(by >> 40)) + __sync_fetch_and_xor(&sum, by);
            got += __sync_val_compare_and_swap(&calls, d[3] & 3, 0) + __sync_val_compare_and_swap(&sum, sum, got);
            got += __sync_lock_test_and_set(&calls, calls + 1) + __sync_fetch_and_add(&calls, small & 3);
            __sync_fetch_and_add(&calls, 1);
            return got;
        }"#;
    each(&format!("{BEGIN}{source}"), 200, 64, &["count", "add"]);
}

#[test]
fn callbacks_are_called() {
    let source = r#"
        struct { __uint(type, 2); __uint(max_entries, 5); __type(key, u32); __type(value, u64); } array SEC(".maps");
        struct { __uint(type, 1); __uint(max_entries, 20); __type(key, u16); __type(value, u64); } hash SEC(".maps");
        struct { __uint(type, 6); __uint(max_entries, 3); __type(key, u32); __type(value, u64); } each_cpu SEC(".maps");
        struct state { u64 sum; u32 calls; u32 until; };
        static long turn(u32 number, struct state *state) {
            state->sum = state->sum * 31 + number;
            state->calls++;
            return number == state->until;
        }
        static long element(void *map, u32 *key, u64 *value, struct state *state) {
            *value += *key + state->until;
            state->sum = state->sum * 7 + *value;
            return state->calls++ == state->until;
        }
        // Hashes have no order.
        static long any(void *map, u16 *key, u64 *value, struct state *state) {
            *value += *key;
            state->sum += *value * *key;
            if (*value & 4) delete(map, key);
            return 0;
        }
        SEC("xdp") int all(struct xdp_md *ctx) {
            BEGIN
            struct state state = {.until = d[0] & 15};
            u16 key = d[3] & 15; u64 value = d[4];
            update(&hash, &key, &value, 0);
            s64 result = loop(d[1], turn, &state, 0);
            result = result * 1000 + for_each(&array, element, &state, 0);
            result = result * 1000 + for_each(&each_cpu, element, &state, 0);
            result = result * 1000 + for_each(&hash, any, &state, 0);
            result += loop(9000000, turn, &state, 0) + loop(1, turn, &state, 1);
            *(u64 *)(d + 8) = state.sum; *(u32 *)(d + 16) = state.calls;
            return result;
        }"#;
    each(&format!("{BEGIN}{source}"), 150, 64, &["all"]);
}

#[test]
fn sums_of_checksums() {
    let source = r#"
        // Kernels before 6.13 leave that to the program.
        static inline u64 folded(u32 sum) { sum = (sum & 0xffff) + (sum >> 16); return (sum & 0xffff) + (sum >> 16); }
        SEC("xdp") int sums(struct xdp_md *ctx) {
            BEGIN
            u32 seed = *(u32 *)(d + 60), from[4], to[4];
            for (int i = 0; i < 4; i++) { from[i] = *(u32 *)(d + 4 * i); to[i] = *(u32 *)(d + 16 + 4 * i); }
            if (d[50] & 1) from[1] = 0, from[2] = 0xffffffff;
            if (d[50] & 2) for (int i = 0; i < 4; i++) to[i] = from[i];
            if (d[50] & 4) seed = d[51] & 1 ? 0 : 0xffffffff;
            u32 part = d[52] & 12;
            *(u64 *)(d + 8) = folded(csum_diff(from, 16, to, 16, seed));
            *(u64 *)(d + 16) = folded(csum_diff(0, 0, to, 16, seed));
            *(u64 *)(d + 24) = folded(csum_diff(from, 16, 0, 0, seed));
            *(u64 *)(d + 32) = folded(csum_diff(from, 4, to, part, seed));
            *(u64 *)(d + 40) = folded(csum_diff(0, 0, 0, 0, seed)) + folded(csum_diff(from, part, to, 4, seed));
            return redirect(1, 0) * 256 + redirect(1, d[53] & 1);
        }"#;
    each(&format!("{BEGIN}{source}"), 300, 64, &["sums"]);
}

/// What is another thing each time is of the same kind.
#[test]
fn time_passes() {
    let source = r#"
        u64 last;
        SEC("xdp") int times(struct xdp_md *ctx) {
            u64 first = ktime(), second = ktime(), third = boot_time();
            int is_later = first >= last && second >= first && third >= first && first > 1000000;
            last = second;
            return is_later + 2 * (prandom() != prandom() || prandom() != prandom());
        }"#;
    for cpu in CPUS {
        let Some(mut pair) = Pair::new(source, cpu) else { return };
        for _ in 0..10 {
            assert_eq!(pair.run("times", &[0; 64]).0.result, 3);
        }
    }
}

#[test]
fn loops_of_may_goto() {
    let source = r#"
        SEC("xdp") int turns(struct xdp_md *ctx) {
            BEGIN
            u64 sum = 0; u32 n = 0;
        again:
            asm volatile goto("may_goto %l[done]" :::: done);
            sum = sum * 3 + n;
            if (n++ < d[0]) goto again;
        done:
            *(u64 *)(d + 8) = sum;
            return n;
        }"#;
    each(&format!("{BEGIN}{source}"), 50, 64, &["turns"]);
}
