//! Programs as packages have them become objects, once; and what the objects export.

mod common;

use common::{has_clang, plainly};
use moonhook_btf::Kind;
use moonhook_link::{Linkage, Object, Target};
use moonhook_packages::{Exports, Listed, Settings, build, built, list};
use std::fs;
use std::path::Path;

/// A program with all that programs use.
const PROGRAM: &str = r#"
#define HIKE_PROG_NAME limit_pass
#define HIKE_PRINT_LEVEL HIKE_PRINT_LEVEL_INFO
#include "shared.h"
#include <linux/seg6.h>

#define LIMIT_LOW 3
#define LIMIT_BELOW (-1)
#define SEEN_MAP seen

bpf_map(SEEN_MAP, LRU_HASH, __u32, struct record, 2 * 8);
bpf_map(unused, ARRAY, __u32, __u32, 1);

HIKE_VM_PROG_PROTO(HIKE_PROG_NAME);
EXPORT_HIKE_PROG_MAP(HIKE_PROG_NAME, SEEN_MAP);

HIKE_PROG(HIKE_PROG_NAME)
{
	struct record *shared = hike_pcpu_shmem_obj(16, struct record), *record;
	__u32 key = HVM_REG_TO_u32(HVM_ARG2), number = READ_ONCE(key);

	build_bug_on(sizeof(struct record) != 16);
	if (unlikely(!shared || HVM_ARG1))
		return HIKE_XDP_ABORTED;
	record = bpf_map_lookup_elem(&SEEN_MAP, &key);
	if (!record) {
		hike_pr_info("number %d", number);
		hike_pr_debug("nobody reads this");
		DEBUG_HKPRG_PRINT("nor this");
		return HVM_PROG_RET(-2, HIKE_XDP_VM);
	}
	memcpy(shared, record, sizeof(*shared));
	HVM_RET = bpf_htonll(record->last) + _I_REG(3) + __to_u64(HVM_ARG4);
	return likely(number) ? HIKE_XDP_VM : XDP_DROP;
}
EXPORT_HIKE_PROG_3(HIKE_PROG_NAME, __u32, key, __u64, more);
EXPORT_HIKE_CONST(LIMIT_LOW);
EXPORT_HIKE_CONST(LIMIT_BELOW);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

/// The header beside it, which includes HIKe's.
const SHARED: &str = "#include \"hike_vm.h\"\nstruct record { __u64 last, count; };\n";

/// What HIKe's own header would do to it.
const HIKE: &str = "#ifndef _HIKE_VM_H\n#error the header is that of the virtual machine\n#endif\n";

const LOADER: &str = r#"
#include "hike_vm.h"
bpf_map(chains, ARRAY, __u32, __u32, 1);

static __always_inline int begin(struct xdp_md *ctx)
{
	__u32 key = 0, *chain = bpf_map_lookup_elem(&chains, &key);

	if (!chain)
		return -ENOENT;
	hike_chain_boostrap(ctx, *chain);
	return -EINVAL;
}

__section("small_classifier") int __small_classifier(struct xdp_md *ctx)
{
	return begin(ctx) ? XDP_ABORTED : XDP_PASS;
}
EXPORT_HIKE_MAP(__small_classifier, chains);
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
}

fn read(path: &Path) -> Object {
    Object::read(&fs::read(path).unwrap(), "a.bpf.o").unwrap_or_else(|error| panic!("{error}"))
}

/// Names of a function's parameters, and whether each is an address.
fn parameters(object: &Object, function: usize) -> Vec<(String, bool)> {
    let Some(Kind::Function(prototype)) = object.functions[function].ty.map(|ty| object.types.kind(ty))
    else {
        panic!("a function has a type")
    };
    let is_address = |ty| matches!(object.types.kind(object.types.resolved(ty)), Kind::Pointer(_));
    let members = object.types.members(prototype);
    members.iter().map(|member| (member.name.to_string(), is_address(member.type_id))).collect()
}

#[test]
fn programs_have_their_convention_and_exports() {
    if !has_clang("programs_have_their_convention_and_exports") {
        return;
    }
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), &[("limit.bpf.c", PROGRAM), ("shared.h", SHARED), ("hike_vm.h", HIKE)]);
    let made =
        plainly(&folder.path().join("limit.bpf.c"), cache.path()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((made.cached, made.log.as_str()), (false, ""));
    let object = read(&made.object);
    let exports = Exports::of(&object).unwrap();
    let program = exports.program("a").unwrap();
    assert_eq!((program.name.as_str(), program.arguments.len()), ("limit_pass", 2));
    let sizes: Vec<u32> = program.arguments.iter().map(|ty| object.types.size(*ty)).collect();
    assert_eq!(sizes, [4, 8]);
    let expected = [("ctx", true), ("ret", true), ("a2", false), ("a3", false), ("a4", false)];
    let expected: Vec<_> = expected.map(|(name, is_address)| (name.to_string(), is_address)).into();
    assert_eq!(parameters(&object, program.function), expected);
    let function = &object.functions[program.function];
    assert_eq!((function.section.as_str(), function.linkage), (".text", Linkage::Global));
    let expected = [("LIMIT_LOW".to_string(), 3), ("LIMIT_BELOW".to_string(), u64::MAX)];
    assert_eq!(exports.constants, expected);
    assert_eq!(exports.maps, [("limit_pass".to_string(), "seen".to_string())]);
    assert_eq!(exports.loaders, [0; 0]);
    let mut maps: Vec<_> = object
        .maps
        .iter()
        .map(|map| (map.name.as_str(), map.map_type, map.key.0, map.value.0, map.max_entries, map.flags))
        .collect();
    maps.sort_unstable();
    assert_eq!(
        maps,
        [("hvm_shmem_map", 6, 4, 8200, 1, 0), ("seen", 9, 4, 16, 16, 0), ("unused", 2, 4, 4, 1, 0)]
    );
    // What is printed is what the level says, with the program's name.
    let constants = object.data.iter().find(|data| data.is_constant).map(|data| data.bytes.as_slice());
    assert_eq!(constants, Some(&b"INFO: limit_pass: number %d\0"[..]));
    assert!(function.references.iter().any(|reference| matches!(reference.target, Target::Data { .. })));
}

#[test]
fn loaders_call_what_is_linked() {
    if !has_clang("loaders_call_what_is_linked") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("small.bpf.c", LOADER), ("hike_vm.h", HIKE)]);
    let made =
        plainly(&folder.path().join("small.bpf.c"), folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let object = read(&made.object);
    let exports = Exports::of(&object).unwrap();
    let [loader] = exports.loaders[..] else { panic!("{exports:?}") };
    let function = &object.functions[loader];
    assert_eq!(
        (function.name.as_str(), function.section.as_str()),
        ("__small_classifier", "small_classifier")
    );
    assert!(
        function
            .references
            .iter()
            .any(|reference| reference.target == Target::Missing("moonhook_chain".into()))
    );
    assert_eq!(exports.maps, [("__small_classifier".to_string(), "chains".to_string())]);
    let none = exports.program("small").unwrap_err();
    assert_eq!((none.code(), none.to_string().as_str()), ("MH0920", "small: it exports no program"));
    // It ends behind the call, wherever the compiler has put that.
    let exits = function.code.iter().filter(|[code, ..]| *code == 0x95).count();
    assert_eq!(exits, 2);
}

#[test]
fn objects_are_made_once_for_what_they_are_made_of() {
    if !has_clang("objects_are_made_once_for_what_they_are_made_of") {
        return;
    }
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache = cache.path().join("made/when needed");
    let source = folder.path().join("limit pass.bpf.c");
    write(folder.path(), &[("limit pass.bpf.c", PROGRAM), ("shared.h", SHARED), ("hike_vm.h", HIKE)]);
    let again = || plainly(&source, &cache).unwrap_or_else(|error| panic!("{error}"));
    let first = again();
    let bytes = fs::read(&first.object).unwrap();
    assert!(!first.cached && again().cached && again().object == first.object);
    assert!(!bytes.windows(7).any(|bytes| bytes == b".build-"), "it says where the headers lay for now");
    // A header is part of it, and what was there before is there still.
    write(folder.path(), &[("shared.h", &format!("{SHARED}#define MORE 1\n"))]);
    let second = again();
    assert!(!second.cached && second.object != first.object);
    write(folder.path(), &[("shared.h", SHARED)]);
    assert_eq!(again().object, first.object);
    assert_eq!(fs::read(&first.object).unwrap(), bytes);
    // So are definitions.
    let defines = [("MOONHOOK_QUIET".to_string(), "1".to_string())];
    let quiet = Settings { defines: &defines, includes: &[], cache: &cache };
    assert_eq!(built(&source, &quiet), None);
    let quietly = build(&source, &quiet).unwrap();
    assert!(!quietly.cached && built(&source, &quiet).is_some_and(|built| built.object == quietly.object));
    assert!(read(&quietly.object).data.iter().all(|data| data.bytes.is_empty()));
    // Nothing is left of the work.
    let names =
        fs::read_dir(&cache).unwrap().map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    assert!(names.iter().all(|name| name.ends_with(".note") || name.ends_with(".bpf.o")), "{names:?}");
}

/// Whichever folder it is in, and however it is included.
#[test]
fn a_header_that_is_found_before_another_one_is_seen() {
    if !has_clang("a_header_that_is_found_before_another_one_is_seen") {
        return;
    }
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = |name: &str| folder.path().join(name);
    for name in ["own/deep", "near/deep", "far/deep"] {
        fs::create_dir_all(place(name)).unwrap();
    }
    let text = "#include <linux/bpf.h>\n#include \"deep/a.h\"\n#include <b.h>\nint value = A + B;\n";
    write(
        folder.path(),
        &[
            ("own/it.bpf.c", text),
            ("far/deep/a.h", "#include \"c.h\"\n#define A C\n"),
            ("far/deep/c.h", "#define C 1\n"),
            ("far/b.h", "#define B 10\n"),
        ],
    );
    let includes = [place("near"), place("far")];
    let settings = Settings { defines: &[], includes: &includes, cache: cache.path() };
    let value = || {
        let built = build(&place("own/it.bpf.c"), &settings).unwrap_or_else(|error| panic!("{error}"));
        let data = read(&built.object).data.iter().flat_map(|data| data.bytes.clone()).collect::<Vec<u8>>();
        (data.first().copied().unwrap_or_default(), built.cached)
    };
    assert_eq!((value(), value()), ((11, false), (11, true)));
    for (name, line, now) in [
        ("near/b.h", "#define B 20", 21),
        ("own/b.h", "#define B 30", 31),
        ("near/deep/a.h", "#define A 2", 32),
        ("own/deep/a.h", "#define A 3", 33),
        ("own/linux/bpf.h", "#include_next <linux/bpf.h>\n#undef B\n#define B 40", 33),
    ] {
        fs::create_dir_all(place(name).parent().unwrap()).unwrap();
        write(folder.path(), &[(name, line)]);
        assert_eq!((value(), value()), ((now, false), (now, true)), "{name}");
    }
    for (name, now) in [("own/linux/bpf.h", 33), ("own/deep/a.h", 32), ("near/deep/a.h", 31), ("own/b.h", 21)]
    {
        fs::remove_file(place(name)).unwrap();
        assert_eq!(value().0, now, "{name}");
    }
}

#[test]
fn what_does_not_compile_is_told_with_all_that_clang_says() {
    if !has_clang("what_does_not_compile_is_told_with_all_that_clang_says") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("wrong.bpf.c");
    write(folder.path(), &[("wrong.bpf.c", "int f(void)\n{\n\treturn qqqqq + zzzzz;\n}\n")]);
    let error = plainly(&source, folder.path()).unwrap_err();
    let source = source.canonicalize().unwrap();
    let message =
        format!("{} does not compile: 3:9: error: use of undeclared identifier 'qqqqq'", source.display());
    assert_eq!((error.code(), error.to_string()), ("MH0915", message));
    let note = error.diagnostic().reason.unwrap();
    assert!(note.contains("'zzzzz'") && note.ends_with("2 errors generated."), "{note}");
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "nothing is left of it");
    let error = plainly(&folder.path().join("gone.bpf.c"), folder.path()).unwrap_err();
    assert_eq!(error.code(), "MH0917");
}

/// The kernel's headers take `__always_inline` for a wish, which compilers do not grant to long functions.
#[test]
fn functions_are_inlined_where_they_say_so() {
    if !has_clang("functions_are_inlined_where_they_say_so") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let long = "x = READ_ONCE(x) * 5 + 3; ".repeat(300);
    let source = format!(
        "#include \"hike_vm.h\"\nstatic __always_inline __u64 longer(__u64 x) {{ {long} return x; }}\n\
         HIKE_PROG(one) {{ HVM_RET = longer(HVM_ARG2) + longer(HVM_ARG3); return HIKE_XDP_VM; }}\n\
         EXPORT_HIKE_PROG(one);\n"
    );
    write(folder.path(), &[("one.bpf.c", &source), ("hike_vm.h", HIKE)]);
    let made =
        plainly(&folder.path().join("one.bpf.c"), folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<String> = read(&made.object).functions.into_iter().map(|function| function.name).collect();
    assert_eq!(names, ["one"]);
}

#[test]
fn several_programs_in_a_file_are_refused() {
    if !has_clang("several_programs_in_a_file_are_refused") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let two = "#include <stddef.h>\nHIKE_PROG(one) { return XDP_PASS; }\nEXPORT_HIKE_PROG(one);\nHIKE_PROG(two) { return XDP_DROP; }\nEXPORT_HIKE_PROG_1(two);\n";
    write(folder.path(), &[("two.bpf.c", two)]);
    let made =
        plainly(&folder.path().join("two.bpf.c"), folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let exports = Exports::of(&read(&made.object)).unwrap();
    let error = exports.program("two.bpf.o").unwrap_err();
    assert_eq!(error.to_string(), "two.bpf.o: it exports several programs: 'one', 'two'");
}

#[test]
fn exports_that_are_none_are_errors() {
    if !has_clang("exports_that_are_none_are_errors") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (number, (export, problem)) in [
        ("MOONHOOK_EXPORT_PROGRAM(gone);", "the program 'gone' is no function"),
        ("MOONHOOK_EXPORT int moonhook_constant_x;", "the constant 'x' has no value"),
        ("MOONHOOK_EXPORT int moonhook_map_x;", "the map of 'moonhook_map_x' has no name"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.bpf.c");
        write(folder.path(), &[(&name, export)]);
        let made =
            plainly(&folder.path().join(&name), folder.path()).unwrap_or_else(|error| panic!("{error}"));
        let error = Exports::of(&read(&made.object)).unwrap_err();
        assert_eq!((error.code(), error.to_string()), ("MH0920", format!("a.bpf.o: {problem}")));
    }
}

#[test]
fn packages_are_listed_with_what_is_built() {
    if !has_clang("packages_are_listed_with_what_is_built") {
        return;
    }
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(
        folder.path(),
        &[("limit.bpf.c", PROGRAM), ("shared.h", SHARED), ("hike_vm.h", HIKE), ("own.lua", "")],
    );
    let settings = Settings { defines: &[], includes: &[], cache: cache.path() };
    let exported = |listed: Listed| {
        let programs = listed.exports.map(|exports| exports.programs).unwrap_or_default();
        let names: Vec<String> = programs.into_iter().map(|program| program.name).collect();
        (listed.name, names.concat(), listed.maps.len())
    };
    let all = || list(folder.path(), Some(&settings)).unwrap().into_iter().map(exported).collect::<Vec<_>>();
    let own = ("own".to_string(), String::new(), 0);
    assert_eq!(all(), [("limit".to_string(), String::new(), 0), own.clone()]);
    let made = build(&folder.path().join("limit.bpf.c"), &settings).unwrap();
    assert_eq!(all()[0], ("limit".to_string(), "limit_pass".to_string(), 3));
    fs::create_dir(folder.path().join("build")).unwrap();
    fs::copy(&made.object, folder.path().join("build/other.bpf.o")).unwrap();
    let other = ("other".to_string(), "limit_pass".to_string(), 3);
    assert_eq!(all()[1..], [other, own]);
}
