//! What the kernel makes of programs and loaders that are called as chains call them: linked by bpftool with a caller, loaded, run.

mod common;

use common::{has_clang, plainly, skipped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Gives a verdict or a result, by its argument; leaves the result alone for the rest.
const PROGRAM: &str = r#"
#include "hike_vm.h"
HIKE_PROG(sample)
{
	unsigned char *shared = hike_pcpu_shmem();

	if (!shared || HVM_ARG0 || HVM_ARG1)
		return XDP_ABORTED;
	switch (HVM_ARG2) {
	case 0 ... 4:
		return HVM_ARG2;
	case 5:
		return HVM_PROG_RET(HVM_ARG3 * 10 + HVM_ARG4, HIKE_XDP_VM);
	case 6:
		return -ENOENT;
	case 7:
		*_I_RREG(0) = !hike_pcpu_shmem_obj(8185, __u64) + 2 * !!hike_pcpu_shmem_obj(8184, __u64);
		return HIKE_XDP_VM;
	default:
		HVM_RET = bpf_htonll(0x0102030405060708ULL) == 0x0807060504030201ULL && READ_ONCE(HVM_ARG3) == 8;
		return HIKE_XDP_VM;
	}
}
EXPORT_HIKE_PROG_4(sample, __u64, what, __u64, more, __u64, last);
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

/// Gives a verdict of 0 to 4 as it is, and a result with 100 added.
const CALLER: &str = r#"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
extern int sample(struct xdp_md *ctx, __u64 *ret __attribute__((btf_decl_tag("arg:nonnull"))), __u64 a2, __u64 a3, __u64 a4);
SEC("xdp") int caller(struct xdp_md *ctx)
{
	__u64 result = 77;
	int verdict = sample(ctx, &result, WHAT, 8, 9);

	return verdict >= 0 && verdict <= 4 ? verdict : result + 100;
}
char LICENSE_OF_CALLER[] SEC("license") = "Dual BSD/GPL";
"#;

/// Does what HIKe's loaders do when a chain comes back.
const LOADER: &str = r#"
#include "hike_vm.h"
bpf_map(chains, ARRAY, __u32, __u32, 1);

static __always_inline int begin(struct xdp_md *ctx)
{
	__u32 key = 0, *chain = bpf_map_lookup_elem(&chains, &key);

	if (!chain)
		return -EINVAL;
	hike_chain_boostrap(ctx, *chain);
	return -EINVAL;
}

__section("xdp") int caller(struct xdp_md *ctx)
{
	return begin(ctx) ? 50 : XDP_PASS;
}
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

const CHAIN: &str = r#"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
int moonhook_chain(struct xdp_md *ctx, __u32 chain) { return WHAT; }
char LICENSE_OF_CHAIN[] SEC("license") = "Dual BSD/GPL";
"#;

/// Pins that go with the test.
struct Pins(PathBuf);

impl Drop for Pins {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn bpftool(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let output =
        Command::new("bpftool").args(arguments.iter().map(AsRef::as_ref)).output().expect("bpftool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the function `caller` of two sources gives, each of which is for the other; `WHAT` is a macro of the second.
fn run(folder: &Path, first: &str, second: &str, what: i32) -> String {
    let place = |name: &str| folder.join(name);
    let object = |name: &str, source: &str| {
        fs::write(place(name), source).unwrap();
        plainly(&place(name), folder).unwrap_or_else(|error| panic!("{error}")).object
    };
    let first = object("first.bpf.c", first);
    let second = object("second.bpf.c", &format!("#define WHAT {what}\n{second}"));
    let linked = place("linked.o");
    bpftool(&[&"gen", &"object", &linked, &first, &second]);
    let pins = Pins(Path::new("/sys/fs/bpf").join(format!("moonhook-packages-{}", std::process::id())));
    bpftool(&[&"prog", &"loadall", &linked, &pins.0, &"type", &"xdp"]);
    fs::write(place("frame"), [0; 64]).unwrap();
    let answer = bpftool(&[
        &"prog",
        &"run",
        &"pinned",
        &pins.0.join("caller"),
        &"data_in",
        &place("frame"),
        &"repeat",
        &"1",
    ]);
    let value = answer.split("Return value: ").nth(1).and_then(|rest| rest.split(',').next());
    value.unwrap_or(&answer).to_string()
}

/// Whether programs can be loaded here; says so if not, or fails under `MOONHOOK_REQUIRE_KERNEL=1`.
fn has_kernel(test: &str) -> bool {
    let map = ["map", "list"];
    let works = Command::new("bpftool").args(map).output().is_ok_and(|output| output.status.success())
        && fs::metadata("/sys/fs/bpf").is_ok_and(|folder| !folder.permissions().readonly())
        && fs::create_dir(format!("/sys/fs/bpf/moonhook-packages-try-{}", std::process::id())).is_ok();
    let _ = fs::remove_dir(format!("/sys/fs/bpf/moonhook-packages-try-{}", std::process::id()));
    let required = std::env::var_os("MOONHOOK_REQUIRE_KERNEL").is_some_and(|value| value == "1");
    assert!(works || !required, "{test}: programs cannot be loaded here");
    if !works {
        skipped(test, "programs cannot be loaded here (bpftool, bpf(), /sys/fs/bpf)");
    }
    works
}

#[test]
fn programs_and_loaders_give_what_chains_expect() {
    let test = "programs_and_loaders_give_what_chains_expect";
    if !has_clang(test) || !has_kernel(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hike_vm.h"), "").unwrap();
    for (what, expected) in [(0, "0"), (2, "2"), (4, "4"), (5, "189"), (6, "100"), (7, "103"), (8, "101")] {
        assert_eq!(run(folder.path(), PROGRAM, CALLER, what), expected, "program, {what}");
    }
    for (what, expected) in [(0, "0"), (1, "1"), (3, "3"), (4, "4"), (-2, "50")] {
        assert_eq!(run(folder.path(), LOADER, CHAIN, what), expected, "loader, {what}");
    }
}
