//! Scripts that have the same program, or the same name: what one leaves behind is not another one's.

mod common;

use common::{DEVICE, LOADER, Served, has_clang, in_namespace, is_attached, is_attached_to, send, wait_for};
use moonhook_install::PinnedMap;
use moonhook_serve::proto::eclat::{Outcome, Script};
use moonhook_serve::proto::v1;
use moonhook_serve::proto::v1::table_request::Operation;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const OTHER: &str = "other0";

/// Counts by a number.
const PROGRAM: &str = r#"
#include "hike_vm.h"
bpf_map(counts, ARRAY, __u32, __u64, 4);
HIKE_PROG(counter)
{
	__u32 key = HVM_ARG2 & 3;
	__u64 *count = bpf_map_lookup_elem(&counts, &key);
	if (!count)
		return XDP_ABORTED;
	*count += 1;
	return HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(counter, __u64, which);
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

fn packages(folder: &Path) {
    let own = folder.join("packages/own");
    std::fs::create_dir_all(&own).unwrap();
    for (name, text) in [("start.bpf.c", LOADER), ("counter.bpf.c", PROGRAM), ("hike_vm.h", "")] {
        std::fs::write(own.join(name), text).unwrap();
    }
}

fn load_at(served: &Served, device: &str) -> Outcome {
    let script = format!(
        "from programs.own import counter\nfrom loaders.own import start\nstart[chains] = {{ (0): (counting) }}\n\
         start.attach('{device}', 'xdp')\ndef counting():\n    counter(1)\n    return 0\n"
    );
    let request = Script { script, package: "defaultpkg".into() };
    served.runtime.block_on(served.eclat().load_configuration(request)).unwrap().into_inner()
}

fn stop(served: &Served, name: &str) {
    served.runtime.block_on(served.moonhook().stop(v1::StopRequest { name: name.into() })).unwrap();
}

/// The map at a path: the kernel's number of it.
fn map_at(path: &Path) -> u32 {
    PinnedMap::open(path).unwrap().id()
}

#[test]
fn scripts_with_one_program_keep_their_pins() {
    let test = "scripts_with_one_program_keep_their_pins";
    if !has_clang(test) {
        return;
    }
    in_namespace(test, || {
        let folder = tempfile::tempdir().unwrap();
        packages(folder.path());
        let bpffs = PathBuf::from(format!("/sys/fs/bpf/moonhook-owners-{}", std::process::id()));
        let maps = bpffs.clone();
        let served = Served::with(folder, move |config| (config.maps, config.maps_are_chosen) = (maps, true));
        let pin = bpffs.join("own/counter/counts");
        let names = || {
            let entries = std::fs::read_dir(bpffs.join("own/counter")).unwrap().flatten();
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(load_at(&served, DEVICE).status, "OK");
        let first = map_at(&pin);
        // What is refused while it is attached has the program, too.
        let refused = load_at(&served, "nodevice");
        assert!(refused.message.contains("MH0511"), "{}", refused.message);
        assert_eq!((map_at(&pin), names()), (first, vec!["counts".to_string()]));
        assert_eq!(load_at(&served, OTHER).status, "OK");
        let second = map_at(&pin);
        assert_ne!(first, second);
        let reload = v1::ReloadRequest { name: "counting".into(), scripts: Vec::new() };
        served.runtime.block_on(served.moonhook().reload(reload)).unwrap();
        assert_eq!(map_at(&pin), second);
        stop(&served, "counting-2");
        assert_eq!((map_at(&pin), names()), (first, vec!["counts".to_string()]));
        assert_eq!(load_at(&served, OTHER).status, "OK");
        let third = map_at(&pin);
        stop(&served, "counting");
        assert_eq!(map_at(&pin), third);
        served.end(false);
        assert!(!is_attached() && !is_attached_to(OTHER) && !bpffs.exists());
    });
}

/// Counts and drops all there is of a type.
const COUNT: &str = "\
local hits = map{key = 'int', value = 'int', capacity = 100}
require('xdp').attach(function(pkt)
  if pkt:getuint16(12) == 0x3333 then
    hits[1] = (hits[1] or 0) + 1
    return 1
  end
end)
";

fn hits(served: &Served) -> Value {
    let operation = Some(Operation::Get("1".into()));
    let request = v1::TableRequest { name: "count".into(), table: "hits".into(), operation };
    match served.runtime.block_on(served.moonhook().table(request)) {
        Ok(answer) => serde_json::from_str(&answer.into_inner().json).unwrap(),
        Err(_) => Value::Null,
    }
}

/// What a client has put in the place of a script of the folder is what the next service goes on with.
#[test]
fn a_clients_version_of_a_folders_script_is_restored() {
    in_namespace("a_clients_version_of_a_folders_script_is_restored", || {
        let folder = tempfile::tempdir().unwrap();
        let scripts = folder.path().join("scripts");
        std::fs::create_dir_all(&scripts).unwrap();
        std::fs::write(scripts.join("count.lua"), "require('xdp').attach(function(pkt) return end)\n")
            .unwrap();
        std::fs::write(scripts.join("count.toml"), format!("interfaces = [\"{DEVICE}\"]")).unwrap();
        let bpffs = PathBuf::from(format!("/sys/fs/bpf/moonhook-restored-{}", std::process::id()));
        let with = |folder| {
            let bpffs = bpffs.clone();
            Served::with(folder, move |config| (config.pin, config.bpffs) = (true, Some(bpffs)))
        };
        let served = with(folder);
        let health = |served: &Served| {
            let answer = served.runtime.block_on(served.moonhook().health(v1::HealthRequest {}));
            answer.unwrap().into_inner().scripts
        };
        wait_for(&1, || health(&served));
        let load = v1::LoadRequest {
            scripts: vec![v1::Source { name: "count.lua".into(), text: COUNT.into() }],
            interfaces: vec![DEVICE.into()],
            replace: true,
            ..Default::default()
        };
        let loaded = served.runtime.block_on(served.moonhook().load(load)).unwrap().into_inner();
        assert!(loaded.replaced);
        send(2, 0x3333);
        wait_for(&json!(2), || hits(&served));
        let folder = served.end(false);
        send(1, 0x3333);
        let served = with(folder);
        served.logged("in the place of what was pinned");
        // The folder's is not started beside it, which the log says.
        served.logged("count: a script named 'count' is running already");
        send(1, 0x3333);
        wait_for(&json!(4), || hits(&served));
        assert_eq!(health(&served), 1);
        // What cannot be read of it stays pinned: it is not the folder's.
        let folder = served.end(false);
        let run = folder.path().join("state/count.script/run.toml");
        let text = std::fs::read_to_string(&run).unwrap();
        std::fs::write(&run, "scripts = 7").unwrap();
        let served = with(folder);
        served.logged("what is pinned of 'count' stays");
        served.logged("a script named 'count' is pinned");
        assert!(health(&served) == 0 && is_attached());
        let folder = served.end(false);
        std::fs::write(&run, text).unwrap();
        let served = with(folder);
        wait_for(&json!(4), || hits(&served));
        stop(&served, "count");
        assert!(!is_attached());
        // Stopped, it is forgotten, and the folder's is what there is.
        let served = with(served.end(false));
        wait_for(&1, || health(&served));
        assert_eq!(hits(&served), Value::Null);
        stop(&served, "count");
        served.end(false);
        let _ = std::fs::remove_dir(&bpffs);
        assert!(!bpffs.exists());
    });
}
