//! What the tests share: chance that can be repeated, and C compiled.

#![allow(dead_code, reason = "each test uses what it needs")]

use moonhook_link::Object;
use std::process::Command;
use std::sync::Arc;

/// Random numbers, the same each time (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// What all sources begin with.
pub const HEADER: &str = r#"
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define likely_packet(at, type) ((void *)(at) + sizeof(type) <= end)
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef signed char s8; typedef short s16; typedef int s32; typedef long long s64;
struct xdp_md { u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex; };
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
static long (*delete)(void *, const void *) = (void *)3;
static long (*csum_diff)(void *, u32, void *, u32, u32) = (void *)28;
static long (*adjust_head)(struct xdp_md *, int) = (void *)44;
static long (*adjust_tail)(struct xdp_md *, int) = (void *)65;
static long (*redirect)(u32, u64) = (void *)23;
static u64 (*ktime)(void) = (void *)5;
static u64 (*boot_time)(void) = (void *)125;
static u32 (*prandom)(void) = (void *)7;
static long (*for_each)(void *, void *, void *, u64) = (void *)164;
static long (*loop)(u32, void *, void *, u64) = (void *)181;
char _license[] SEC("license") = "GPL";
"#;

/// The bytes of an object, if there is a compiler; under `MOONHOOK_REQUIRE_KERNEL=1` there has to be.
pub fn compiled(source: &str, cpu: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("there is room for an object");
    let (from, to) = (folder.path().join("a.bpf.c"), folder.path().join("a.bpf.o"));
    std::fs::write(&from, format!("{HEADER}{source}")).expect("the source can be written");
    for clang in ["clang-19", "clang"] {
        let arguments = ["-O2", "-g", "-target", "bpf", "-Wno-everything", cpu, "-c"];
        let made = Command::new(clang).args(arguments).arg(&from).arg("-o").arg(&to).output();
        if let Ok(output) = made {
            assert!(output.status.success(), "{}\n{source}", String::from_utf8_lossy(&output.stderr));
            return Some(std::fs::read(&to).expect("the object is there"));
        }
    }
    assert!(!is_required(), "MOONHOOK_REQUIRE_KERNEL=1, but there is no clang");
    eprintln!("skipped: there is no clang");
    None
}

pub fn is_required() -> bool {
    std::env::var("MOONHOOK_REQUIRE_KERNEL").is_ok_and(|value| value == "1")
}

pub fn object(bytes: &[u8]) -> Arc<Object> {
    Arc::new(Object::read(bytes, "a.bpf.o").expect("an object of clang's"))
}
