//! Maps of programs of packages beside those of objects that a script loads itself: by paths, as tables, and what cannot be shown.

mod common;

use common::{DEVICE, Served, in_namespace, send, skipped, wait_for};
use moonhook_serve::proto::eclat::{Map, Outcome};
use moonhook_serve::proto::v1;
use moonhook_serve::proto::v1::table_request::Operation;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of a package, which counts by a number on each CPU, and has a ring.
const COUNTER: &str = r#"
#include "hike_vm.h"
struct counted { __u64 packets; char name[8]; };
bpf_map(counts, PERCPU_ARRAY, __u32, struct counted, 4);
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");
HIKE_PROG(counter)
{
	__u32 key = HVM_ARG2 & 3;
	struct counted *counted = bpf_map_lookup_elem(&counts, &key);
	if (!counted)
		return XDP_ABORTED;
	counted->packets += 1;
	bpf_ringbuf_output(&ring, &key, sizeof(key), 0);
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(counter, __u64, which);
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

/// An object of the script's own, with a map of the same name.
const METER: &str = r#"
typedef unsigned int u32;
typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
struct xdp_md { u32 data; };
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
struct { int (*type)[1]; int (*max_entries)[2]; u32 *key; u64 *value; } counts SEC(".maps");
__attribute__((noinline)) int count(struct xdp_md *ctx, u32 key)
{
	u64 one = 1, *number = lookup(&counts, &key);
	if (number)
		__sync_fetch_and_add(number, 1);
	else
		update(&counts, &key, &one, 0);
	return 0;
}
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

const CHAIN: &str = "from programs.own import counter\ndef counting():\n    counter(1)\n    return 0\n";

const MIXED: &str = "\
local xdp, bpf, eclat = require 'xdp', require 'bpf', require 'eclat'
local meter = bpf.object('meter.bpf.o')
local ends = map{key = 'int', value = 'int', capacity = 10}
local counting = eclat.chain('chain.eclat', 'counting')
xdp.attach(function(pkt)
  if ends[pkt:getuint16(12)] then return 1 end
  meter.count(pkt, 7)
  counting(pkt)
end)
";

/// Compiles C; `None`, and says so, where there is no clang.
fn compiled(test: &str, from: &Path, to: &Path) -> Option<()> {
    for clang in ["clang-19", "clang"] {
        let mut command = Command::new(clang);
        command.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c"]).arg(from).arg("-o").arg(to);
        if let Ok(done) = command.output() {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            return Some(());
        }
    }
    skipped(test, "there is no clang");
    None
}

/// A folder with the package and with scripts, of which one mixes both.
fn folder(test: &str) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let (own, scripts) = (folder.path().join("packages/own"), folder.path().join("scripts"));
    std::fs::create_dir_all(&own).unwrap();
    std::fs::create_dir_all(&scripts).unwrap();
    std::fs::write(own.join("hike_vm.h"), "").unwrap();
    std::fs::write(own.join("counter.bpf.c"), COUNTER).unwrap();
    let source = folder.path().join("meter.c");
    std::fs::write(&source, METER).unwrap();
    compiled(test, &source, &scripts.join("meter.bpf.o"))?;
    std::fs::write(scripts.join("mixed.lua"), MIXED).unwrap();
    std::fs::write(scripts.join("mixed.toml"), format!("interfaces = [\"{DEVICE}\"]")).unwrap();
    // No script of its own: nothing says where it is attached.
    std::fs::write(scripts.join("chain.eclat"), CHAIN).unwrap();
    Some(folder)
}

/// A service with the script of that folder.
fn started(folder: tempfile::TempDir) -> Served {
    let served = Served::with(folder, |_| ());
    wait_for_script(&served);
    served
}

fn wait_for_script(served: &Served) {
    let health = || served.runtime.block_on(served.moonhook().health(v1::HealthRequest {}));
    wait_for(&1, || health().unwrap().into_inner().scripts);
}

fn dump(served: &Served, path: &str) -> Outcome {
    let request = Map { mapname: path.into() };
    served.runtime.block_on(served.eclat().dump_map(request)).unwrap().into_inner()
}

/// What an operation gives, or the code of what it fails of.
fn table(served: &Served, table: &str, operation: Operation) -> Result<Value, String> {
    let request = v1::TableRequest { name: "mixed".into(), table: table.into(), operation: Some(operation) };
    match served.runtime.block_on(served.moonhook().table(request)) {
        Ok(answer) => Ok(serde_json::from_str(&answer.into_inner().json).unwrap()),
        Err(status) => Err(status.metadata().get("moonhook-code").unwrap().to_str().unwrap().to_string()),
    }
}

fn get(served: &Served, of: &str, key: &str) -> Value {
    table(served, of, Operation::Get(key.into())).unwrap()
}

fn set(key: &str, value: &str) -> Operation {
    Operation::Set(v1::Pair { key: key.into(), value: value.into() })
}

/// Packets under number 1 of the program's map, on all CPUs.
fn counted(served: &Served) -> u64 {
    let entries: Value = serde_json::from_str(&dump(served, "own/counter/counts").message).unwrap();
    let values = entries[1]["values"].as_array().unwrap().clone();
    values.iter().map(|value| value["value"]["packets"].as_u64().unwrap()).sum()
}

#[test]
fn maps_of_one_name_are_not_mixed_up() {
    let test = "maps_of_one_name_are_not_mixed_up";
    let Some(folder) = folder(test) else { return };
    in_namespace(test, || {
        let bpffs = PathBuf::from(format!("/sys/fs/bpf/moonhook-mixed-{}", std::process::id()));
        let maps = bpffs.clone();
        let served = Served::with(folder, move |config| (config.maps, config.maps_are_chosen) = (maps, true));
        wait_for_script(&served);
        send(3, 0x1234);
        wait_for(&3, || counted(&served));
        assert_eq!(get(&served, "meter/counts", "7"), json!(3));
        assert_eq!(get(&served, "own/counter/counts", "1"), json!({ "packets": 3, "name": "" }));
        // What a script has loaded itself is of no package.
        let pins: Vec<_> =
            std::fs::read_dir(&bpffs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(pins, ["own"]);
        assert!(bpffs.join("own/counter/counts").exists());
        let none = dump(&served, "meter/counts");
        assert!(none.status == "FAIL" && none.message.contains("MH1007"), "{}", none.message);
        // A reload that is refused changes nothing of it, nor does one that is done.
        let reload = |scripts| {
            let request = v1::ReloadRequest { name: "mixed".into(), scripts };
            served.runtime.block_on(served.moonhook().reload(request))
        };
        let bad = v1::Source {
            name: "bad.eclat".into(),
            text: CHAIN.replace("counter(1)", "counter(1, 2, 3, 4, 5)"),
        };
        assert!(reload(vec![bad]).is_err());
        assert_eq!(counted(&served), 3);
        // Nor does another content of a table after one that was refused.
        let pair = v1::Pair { key: "2".into(), value: "1".into() };
        table(&served, "ends", Operation::Replace(v1::Pairs { pairs: vec![pair] })).unwrap();
        assert_eq!(counted(&served), 3);
        assert!(bpffs.join("own/counter/counts").exists());
        reload(Vec::new()).unwrap();
        assert_eq!((counted(&served), get(&served, "meter/counts", "7")), (3, json!(3)));
        served.end(false);
        assert!(!bpffs.exists());
    });
}

#[test]
fn maps_of_objects_are_tables() {
    let test = "maps_of_objects_are_tables";
    let Some(folder) = folder(test) else { return };
    in_namespace(test, || {
        let served = started(folder);
        let request = v1::TablesRequest { name: "mixed".into() };
        let tables = served.runtime.block_on(served.moonhook().tables(request)).unwrap().into_inner().tables;
        let shown: Vec<[&str; 3]> =
            tables.iter().map(|table| [&*table.name, &*table.key, &*table.value]).collect();
        assert!(shown.contains(&["meter/counts", "u32", "u64"]), "{shown:?}");
        assert!(
            shown.contains(&["own/counter/counts", "__u32", "{packets = __u64, name = char[8]}"]),
            "{shown:?}"
        );
        let operate = |of: &str, operation| table(&served, of, operation);
        // Two end with this name; a part of a path is enough where one does.
        assert_eq!(operate("counts", Operation::Count(true)), Err("MH0704".into()));
        assert_eq!(operate("counter/counts", Operation::Count(true)), Ok(json!(4)));
        assert_eq!(operate("meter/counts", set("9", "5")), Ok(Value::Null));
        assert_eq!(get(&served, "meter/counts", "9"), json!(5));
        let entries = operate("meter/counts", Operation::Dump(0)).unwrap();
        assert_eq!(entries, json!({ "dump": null, "entries": [[9, 5]] }));
        operate("meter/counts", set("10", "6")).unwrap();
        assert_eq!(operate("meter/counts", set("11", "7")), Err("MH0711".into()), "it is full");
        assert_eq!(operate("meter/counts", Operation::Delete("9".into())), Ok(json!(true)));
        assert_eq!(operate("meter/counts", Operation::Delete("9".into())), Ok(json!(false)));
        assert_eq!(operate("meter/counts", Operation::Clear(true)), Ok(json!(1)));
        // What is read of values of each CPU is what was set.
        let value = "{\"packets\": 12, \"name\": \"ab\"}";
        operate("own/counter/counts", set("2", value)).unwrap();
        assert_eq!(get(&served, "own/counter/counts", "2"), json!({ "packets": 12, "name": "ab" }));
        for operation in [
            set("4", value),
            set("-1", value),
            set("1", "{\"none\": 1}"),
            set("1", "7"),
            Operation::Delete("1".into()),
            Operation::Clear(true),
            Operation::Replace(v1::Pairs::default()),
        ] {
            assert_eq!(
                operate("own/counter/counts", operation.clone()),
                Err("MH0711".into()),
                "{operation:?}"
            );
        }
        assert_eq!(operate("own/counter/ring", Operation::Count(true)), Err("MH0711".into()));
        served.end(false);
    });
}

#[test]
fn a_ring_cannot_be_dumped() {
    let test = "a_ring_cannot_be_dumped";
    let Some(folder) = folder(test) else { return };
    in_namespace(test, || {
        let served = started(folder);
        let ring = dump(&served, "own/counter/ring");
        assert_eq!(ring.status, "FAIL");
        assert!(
            ring.message.starts_with("error[MH1009]: the map 'ring', of the type ringbuf"),
            "{}",
            ring.message
        );
        served.end(false);
    });
}
