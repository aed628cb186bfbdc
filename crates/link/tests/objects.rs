//! Objects that clang makes, taken apart; and what is left of them when bytes are others, which is an error or an object, never more.

use moonhook_link::{LinkError, LinkErrorKind, Linkage, Object, Target};
use std::process::Command;

/// Of all kinds of references.
const SOURCE: &str = r#"
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
typedef unsigned int u32;
typedef unsigned long long u64;
struct xdp_md { u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex; };
struct record { u64 packets; u32 last; u32 pad; };
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*loop)(u32, void *, void *, u64) = (void *)181;

struct { __uint(type, 1); __uint(max_entries, 16); __type(key, u32); __type(value, struct record); } hits SEC(".maps");
struct { __uint(type, 2); __uint(max_entries, 1); __uint(key_size, 4); __uint(value_size, 8); __uint(map_flags, 1024); } plain SEC(".maps");

u64 total;
u64 start = 5;
static const u32 table[4] = {1, 2, 3, 4};
extern int outside(struct xdp_md *ctx, u32 number);

static __attribute__((noinline)) u32 inner(u32 n) { return table[n & 3] + n; }

__attribute__((noinline)) int count(struct xdp_md *ctx, u32 key)
{
    struct record *record = lookup(&hits, &key);
    if (!record)
        return -1;
    record->packets += inner(key) + start;
    total++;
    return record->last;
}

static long turn(u32 number, void *data) { *(u64 *)data += number; return 0; }

__attribute__((weak)) int weak(struct xdp_md *ctx) { u64 sum = 0; loop(4, turn, &sum, 0); return sum; }

SEC("xdp") int main_program(struct xdp_md *ctx)
{
    u32 zero = 0;
    u64 *first = lookup(&plain, &zero);
    return first ? count(ctx, *first) + weak(ctx) : outside(ctx, 7);
}
char _license[] SEC("license") = "Dual BSD/GPL";
"#;

/// The bytes of an object, if there is a compiler; under `MOONHOOK_REQUIRE_KERNEL=1` there has to be.
fn compiled(source: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("there is room for an object");
    let (from, to) = (folder.path().join("a.bpf.c"), folder.path().join("a.bpf.o"));
    std::fs::write(&from, source).expect("the source can be written");
    for clang in ["clang-19", "clang"] {
        let arguments = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c"];
        let made = Command::new(clang).args(arguments).arg(&from).arg("-o").arg(&to).output();
        if let Ok(output) = made {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return Some(std::fs::read(to).expect("there is an object"));
        }
    }
    assert!(std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_none_or(|v| v != "1"), "there is no clang");
    println!("skipped: there is no clang");
    None
}

fn read(bytes: &[u8]) -> Result<Object, LinkError> {
    Object::read(bytes, "a.bpf.o")
}

#[test]
fn objects_of_clang_are_taken_apart() {
    let Some(bytes) = compiled(SOURCE) else { return };
    let object = read(&bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(object.licence, "Dual BSD/GPL");
    let maps: Vec<_> = object
        .maps
        .iter()
        .map(|map| (map.name.as_str(), map.map_type, map.key.0, map.value.0, map.max_entries, map.flags))
        .collect();
    assert_eq!(maps, [("hits", 1, 4, 16, 16, 0), ("plain", 2, 4, 8, 1, 1024)]);
    assert_eq!(object.types.name(object.maps[0].value.1.expect("a type")), "record");
    let number = |name: &str| object.functions.iter().position(|function| function.name == name).expect(name);
    let linkages: Vec<_> = ["inner", "count", "turn", "weak", "main_program"]
        .map(|name| object.functions[number(name)].linkage)
        .to_vec();
    assert_eq!(linkages, [Linkage::Static, Linkage::Global, Linkage::Static, Linkage::Weak, Linkage::Global]);
    let targets = |name: &str| {
        object.functions[number(name)]
            .references
            .iter()
            .map(|reference| reference.target.clone())
            .collect::<Vec<_>>()
    };
    let data =
        |section: &str| object.data.iter().position(|data| data.section.starts_with(section)).expect(section);
    assert_eq!(targets("inner"), [Target::Data { section: data(".rodata"), offset: 0 }]);
    let of_count = targets("count");
    assert_eq!(of_count[..2], [Target::Map(0), Target::Call(number("inner"))]);
    let sections = |target: &Target| {
        if let Target::Data { section, offset: 0 } = target { Some(*section) } else { None }
    };
    let mut others: Vec<_> = of_count[2..].iter().filter_map(sections).collect();
    others.sort_unstable();
    others.dedup();
    let mut expected = vec![data(".data"), data(".bss")];
    expected.sort_unstable();
    assert_eq!(others, expected);
    assert_eq!(targets("weak"), [Target::Function(number("turn"))]);
    let of_main = targets("main_program");
    for wanted in [
        Target::Map(1),
        Target::Call(number("count")),
        Target::Call(number("weak")),
        Target::Missing("outside".into()),
    ] {
        assert!(of_main.contains(&wanted), "{wanted:?} in {of_main:?}");
    }
    assert_eq!(
        (object.data[data(".data")].bytes.as_slice(), object.data[data(".bss")].bytes.as_slice()),
        (&5u64.to_le_bytes()[..], &[0; 8][..])
    );
    let main = &object.functions[number("main_program")];
    assert_eq!((main.section.as_str(), object.functions[number("count")].section.as_str()), ("xdp", ".text"));
    let line = &object.functions[number("inner")].lines[0];
    assert!(line.file.ends_with("a.bpf.c") && line.text.contains("u32 inner(u32 n)"), "{line:?}");
    let ty = object.functions[number("count")].ty.expect("a type");
    let moonhook_btf::Kind::Function(prototype) = object.types.kind(ty) else { panic!("no function") };
    let names: Vec<_> =
        object.types.members(prototype).iter().map(|parameter| parameter.name.to_string()).collect();
    assert_eq!(names, ["ctx", "key"]);
    assert_eq!((object.function("count"), object.function("inner")), (Some(number("count")), None));
}

#[test]
fn what_programs_cannot_have_is_said() {
    let kind = |source: &str| {
        let bytes =
            compiled(&format!("{}\n{source}", &SOURCE[..SOURCE.find("struct { __uint").expect("maps")]))?;
        Some(read(&bytes).err().map(|error| (error.code(), error.to_string())))
    };
    for (source, expected) in [
        (
            "extern void bpf_rcu_read_lock(void) __attribute__((section(\".ksyms\"))); SEC(\"xdp\") int f(void *ctx) { bpf_rcu_read_lock(); return 2; }",
            ("MH0904", "a.bpf.o: 'f' calls the kernel function 'bpf_rcu_read_lock'"),
        ),
        (
            "struct { __uint(type, 3); __uint(max_entries, 4); __uint(key_size, 4); int (*values[])(void *); } jumps SEC(\".maps\"); SEC(\"xdp\") int f(void *ctx) { u32 k = 0; return !lookup(&jumps, &k); }",
            ("MH0905", "a.bpf.o: the map 'jumps' has maps or programs in it"),
        ),
        (
            "struct away { int a, b; } __attribute__((preserve_access_index)); SEC(\"xdp\") int f(struct away *p) { return p->b; }",
            ("MH0904", "a.bpf.o: 'f' has fields placed for the kernel that it runs on (CO-RE)"),
        ),
    ] {
        let Some(found) = kind(source) else { return };
        let found = found.unwrap_or_else(|| panic!("it was taken: {source}"));
        assert_eq!((found.0, found.1.as_str()), expected, "{source}");
    }
    assert!(matches!(read(b"\x7fELF").err().map(|error| error.kind), Some(LinkErrorKind::Malformed { .. })));
    let own = std::fs::read("/proc/self/exe").expect("this program has a file");
    assert!(matches!(read(&own).err().map(|error| error.kind), Some(LinkErrorKind::Foreign { .. })));
}

/// As many as `MOONHOOK_FUZZ_OBJECTS` says.
#[test]
fn broken_objects_are_errors() {
    let Some(bytes) = compiled(SOURCE) else { return };
    let count =
        std::env::var("MOONHOOK_FUZZ_OBJECTS").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000u32);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    let mut taken = 0;
    for number in 0..count {
        let mut broken = bytes.clone();
        if number % 4 == 0 {
            broken.truncate(random(bytes.len()));
        }
        for _ in 0..1 + random(8) {
            if broken.is_empty() {
                break;
            }
            let at = random(broken.len());
            match random(3) {
                0 => broken[at] = random(256) as u8,
                1 => broken[at] ^= 1 << random(8),
                _ => {
                    let word = [0u32, 1, u32::MAX, 1 << 31, 0x7fff_ffff, 8][random(6)].to_le_bytes();
                    let end = (at + 4).min(broken.len());
                    broken[at..end].copy_from_slice(&word[..end - at]);
                }
            }
        }
        taken += u32::from(read(&broken).is_ok());
    }
    assert!(taken > 0 && taken < count, "{taken} of {count} were taken");
}
