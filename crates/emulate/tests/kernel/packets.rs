//! Packets, read, changed, lengthened and shortened.

use crate::common::Random;
use crate::support::{CPUS, Pair};

const HEADERS: &str = r#"
    struct eth { u8 to[6], from[6]; u16 type; };
    struct ip { u8 ihl : 4, version : 4; u8 tos; u16 length, id, offset; u8 ttl, protocol; u16 check; u32 from, to; };
    struct udp { u16 from, to, length, check; };
    SEC("xdp") int headers(struct xdp_md *ctx) {
        void *end = (void *)(long)ctx->data_end; struct eth *eth = (void *)(long)ctx->data;
        if (!likely_packet(eth, struct eth)) return 1;
        struct ip *ip = (void *)(eth + 1);
        if (eth->type != __builtin_bswap16(0x800) || !likely_packet(ip, struct ip)) return 2;
        if (ip->version != 4 || ip->ihl < 5) return 3;
        u16 old = *(u16 *)&ip->ttl;
        ip->ttl--;
        u32 sum = (u16)~ip->check + (u16)~old + *(u16 *)&ip->ttl;
        sum = (sum & 0xffff) + (sum >> 16);
        ip->check = ~(sum + (sum >> 16));
        u8 swap[6];
        __builtin_memcpy(swap, eth->to, 6);
        __builtin_memcpy(eth->to, eth->from, 6);
        __builtin_memcpy(eth->from, swap, 6);
        if (ip->protocol != 17) return 4;
        struct udp *udp = (void *)ip + ip->ihl * 4;
        if (!likely_packet(udp, struct udp)) return 5;
        u16 port = udp->from; udp->from = udp->to; udp->to = port;
        return __builtin_bswap16(udp->length) + ((u32)ctx->rx_queue_index << 16);
    }
    SEC("xdp") int bytes(struct xdp_md *ctx) {
        u8 *end = (void *)(long)ctx->data_end, *d = (void *)(long)ctx->data;
        u32 sum = end - d;
#pragma clang loop unroll(disable)
        for (u32 i = 0; i < 200 && d + i + 1 <= end; i++) {
            sum = sum * 31 + d[i];
            if (d[i] & 1) d[i] = sum;
        }
        return sum + ((void *)(long)ctx->data_meta == d);
    }
    SEC("xdp") int fields(struct xdp_md *ctx) {
        u8 *end = (void *)(long)ctx->data_end, *d = (void *)(long)ctx->data;
        if (d + 14 > end) return 0;
        u64 skip = *d & 63;
        d += skip;
        if (d + 30 > end) return 1;
        *(u64 *)(d + 1) ^= *(s16 *)(d + 9);
        *(u32 *)(d + 11) -= *(u8 *)(d + 15);
        *(s16 *)(d + 17) = *(s8 *)(d + 19);
        *(u8 *)(d + 21) = *(s32 *)(d + 22) >> 5;
        return *(u64 *)(d + 3) >> 13;
    }"#;

/// Frames of Ethernet and IPv4 of random length, or that begin so.
fn frame(random: &mut Random) -> Vec<u8> {
    let length = 14 + random.below(200);
    let mut frame = random.bytes(length);
    if !random.one_in(5) {
        frame[12..14].copy_from_slice(&[8, 0]);
        if let [_, _, ip @ ..] = &mut frame[12..]
            && ip.len() > 10
        {
            ip[0] = if random.one_in(5) { 0x46 } else { 0x45 };
            ip[9] = if random.one_in(4) { 6 } else { 17 };
        }
    }
    frame
}

#[test]
fn packets_are_read_and_written() {
    for cpu in CPUS {
        let Some(mut pair) = Pair::new(HEADERS, cpu) else { return };
        let mut random = Random(0x5eed_0003);
        let mut results = std::collections::BTreeSet::new();
        for _ in 0..300 {
            let frame = frame(&mut random);
            for program in ["headers", "bytes", "fields"] {
                results.insert(pair.run(program, &frame).0.result);
            }
        }
        assert!((1..=5).all(|result| result == 1 || result == 3 || results.contains(&result)), "{results:?}");
    }
}

const ADJUST: &str = r#"
    SEC("xdp") int head(struct xdp_md *ctx) {
        u8 *end = (void *)(long)ctx->data_end, *d = (void *)(long)ctx->data;
        if (d + 14 > end) return 1;
        int result = adjust_head(ctx, *(s16 *)d);
        u8 *new_end = (void *)(long)ctx->data_end, *new = (void *)(long)ctx->data;
        if (new + 14 > new_end) return 2;
        new[3] = 0xaa;
        return result * 65536 + (new_end - new);
    }
    SEC("xdp") int tail(struct xdp_md *ctx) {
        u8 *end = (void *)(long)ctx->data_end, *d = (void *)(long)ctx->data;
        if (d + 14 > end) return 1;
        int result = adjust_tail(ctx, *(s16 *)d);
        u8 *new_end = (void *)(long)ctx->data_end, *new = (void *)(long)ctx->data;
        if (new + 14 > new_end) return 2;
        new[3] = 0xaa;
        return result * 65536 + (new_end - new);
    }
    SEC("xdp") int both(struct xdp_md *ctx) {
        u8 *end = (void *)(long)ctx->data_end, *d = (void *)(long)ctx->data;
        if (d + 14 > end) return 1;
        s8 a = d[0], b = d[1], c = d[2];
        long result = adjust_head(ctx, a);
        result = result * 32 + adjust_tail(ctx, b);
        result = result * 32 + adjust_head(ctx, c);
        result = result * 32 + adjust_tail(ctx, -c);
        end = (void *)(long)ctx->data_end, d = (void *)(long)ctx->data;
        if (d + 14 > end) return 2;
        d[5] = result;
        return result;
    }"#;

#[test]
fn packets_grow_and_shrink() {
    for cpu in CPUS {
        let Some(mut pair) = Pair::new(ADJUST, cpu) else { return };
        let mut random = Random(0x5eed_0004);
        // How far the ends can go, to the byte.
        for delta in (-300..60).chain([3400, 3456, 3457, 3460, 3520, i16::MAX, i16::MIN]) {
            let mut frame = random.bytes(64);
            frame[..2].copy_from_slice(&delta.to_le_bytes());
            let (_, packet) = pair.run("head", &frame);
            assert_eq!((64 + packet.head, packet.tail), (packet.bytes.len() as i64, 0));
            let (_, packet) = pair.run("tail", &frame);
            assert_eq!((packet.head, 64 + packet.tail), (0, packet.bytes.len() as i64));
        }
        for _ in 0..300 {
            let length = 14 + random.below(400);
            let (_, packet) = pair.run("both", &random.bytes(length));
            assert_eq!(length as i64 + packet.head + packet.tail, packet.bytes.len() as i64);
        }
    }
}
