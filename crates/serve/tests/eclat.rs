//! Scripts of eCLAT by the calls of its own daemon, with a loader and a program in C.

mod common;

use common::{DEVICE, LOADER, Passed, Served, has_clang, in_namespace, is_attached, send, wait_for};
use moonhook_serve::proto::eclat::{Entry, Map, Nothing, Outcome, Script};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts by a number, on each CPU; from 4 on, packets end here.
const PROGRAM: &str = r#"
#include "hike_vm.h"
struct counted { __u64 packets; char name[8]; };
bpf_map(counts, PERCPU_ARRAY, __u32, struct counted, 4);
bpf_map(last, HASH, __u32, struct counted, 4);
HIKE_PROG(counter)
{
	__u32 key = HVM_ARG2 & 3;
	struct counted *counted = bpf_map_lookup_elem(&counts, &key), one = { 1, "one" };
	if (!counted)
		return XDP_ABORTED;
	counted->packets += 1;
	bpf_map_update_elem(&last, &key, &one, BPF_ANY);
	return HVM_ARG2 & 4 ? XDP_DROP : HIKE_XDP_VM;
}
EXPORT_HIKE_PROG_2(counter, __u64, which);
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"#;

fn script(which: u32) -> String {
    format!(
        "from programs.own import counter\nfrom loaders.own import start\nstart[chains] = {{ (0): (counting) }}\n\
         start.attach('{DEVICE}', 'xdp')\ndef counting():\n    counter({which})\n    return 0\n"
    )
}

fn packages(folder: &Path) {
    let own = folder.join("packages/own");
    std::fs::create_dir_all(&own).unwrap();
    for (name, text) in [("start.bpf.c", LOADER), ("counter.bpf.c", PROGRAM), ("hike_vm.h", "")] {
        std::fs::write(own.join(name), text).unwrap();
    }
}

fn load(served: &Served, text: String) -> Outcome {
    let request = Script { script: text, package: "defaultpkg".into() };
    served.runtime.block_on(served.eclat().load_configuration(request)).unwrap().into_inner()
}

fn dump(served: &Served, path: &str) -> Outcome {
    let request = Map { mapname: path.into() };
    served.runtime.block_on(served.eclat().dump_map(request)).unwrap().into_inner()
}

fn get(served: &Served, path: &str, key: &str) -> Outcome {
    let request = Entry { mapname: path.into(), key: key.into() };
    served.runtime.block_on(served.eclat().get_map_value(request)).unwrap().into_inner()
}

/// Packets of all CPUs under a number.
fn counted(served: &Served, number: usize) -> u64 {
    let entries: Value = serde_json::from_str(&dump(served, "own/counter/counts").message).unwrap();
    let values = entries[number]["values"].as_array().unwrap().clone();
    values.iter().map(|value| value["value"]["packets"].as_u64().unwrap()).sum()
}

#[test]
fn a_script_is_attached_read_replaced_and_gone() {
    let test = "a_script_is_attached_read_replaced_and_gone";
    if !has_clang(test) {
        return;
    }
    in_namespace(test, || {
        let folder = tempfile::tempdir().unwrap();
        packages(folder.path());
        let bpffs = std::path::PathBuf::from(format!("/sys/fs/bpf/moonhook-maps-{}", std::process::id()));
        let maps = bpffs.clone();
        let served = Served::with(folder, move |config| (config.maps, config.maps_are_chosen) = (maps, true));
        let loaded = load(&served, script(1));
        assert_eq!(loaded.status, "OK", "{}", loaded.message);
        assert!(is_attached() && bpffs.join("own/counter/counts").exists());
        send(4, 0x1234);
        wait_for(&(0, 4), || (counted(&served, 0), counted(&served, 1)));
        let path = "/sys/fs/bpf/maps/own/counter/last";
        let entries: Value = serde_json::from_str(&dump(&served, path).message).unwrap();
        assert_eq!(entries, json!([{ "key": 1, "value": { "packets": 1, "name": "one" } }]));
        let one: Value = serde_json::from_str(&get(&served, path, "1").message).unwrap();
        assert_eq!(one["key"], json!(["0x01", "0x00", "0x00", "0x00"]));
        assert_eq!(one["formatted"]["value"]["name"], json!("one"));
        assert_eq!(get(&served, path, "7").message, "null");
        for (path, key, code) in [(path, "x", "MH1008"), ("own/counter/none", "1", "MH1007")] {
            let failed = get(&served, path, key);
            assert!(failed.status == "FAIL" && failed.message.contains(code), "{}", failed.message);
        }
        // What is wrong changes nothing.
        for (text, code) in [
            (script(1).replace("counter(", "missing("), "error["),
            (script(1).replace(DEVICE, "nodevice"), "MH0511"),
            (script(1).replace("(0): (counting)", "(7): (counting)"), "error["),
            ("def (".to_string(), "error[MH03"),
        ] {
            let failed = load(&served, text);
            assert!(failed.status == "FAIL" && failed.message.contains(code), "{}", failed.message);
            assert!(!failed.message.contains('\u{1b}'));
        }
        send(1, 0x1234);
        wait_for(&5, || counted(&served, 1));
        let replaced = load(&served, script(2));
        assert!(replaced.message.contains("replaced"), "{}", replaced.message);
        send(1, 0x1234);
        // What packets have left in maps goes on.
        wait_for(&(5, 1), || (counted(&served, 1), counted(&served, 2)));
        let quit = served.runtime.block_on(served.eclat().quit(Nothing {})).unwrap().into_inner();
        assert_eq!(quit.status, "OK");
        served.end(true);
        assert!(!is_attached() && !bpffs.exists());
    });
}

/// One chain at two devices is two scripts, also where both are loaded at once.
#[test]
fn scripts_that_are_loaded_at_once_have_names_of_their_own() {
    let test = "scripts_that_are_loaded_at_once_have_names_of_their_own";
    if !has_clang(test) {
        return;
    }
    in_namespace(test, || {
        let folder = tempfile::tempdir().unwrap();
        packages(folder.path());
        let served = Served::with(folder, |_| ());
        let one = |device: &str| {
            let (script, mut client) = (script(4).replace(DEVICE, device), served.eclat());
            async move { client.load_configuration(Script { script, package: "p".into() }).await }
        };
        let (here, there) = (one(DEVICE), one("other0"));
        let (here, there) = served.runtime.block_on(async { tokio::join!(here, there) });
        let mut messages = [here, there].map(|answer| answer.unwrap().into_inner().message);
        messages.sort();
        assert!(messages[0].starts_with("'p.counting' is attached ("), "{messages:?}");
        assert!(messages[1].starts_with("'p.counting-2' is attached ("), "{messages:?}");
        // Each is replaced by what is loaded at its device.
        for device in [DEVICE, "other0"] {
            let message = served.runtime.block_on(one(device)).unwrap().into_inner().message;
            assert_eq!(
                message,
                messages[usize::from(messages[1].contains(device))].replace("attached", "replaced")
            );
        }
        served.end(false);
    });
}

/// While scripts that drop all packets take one another's place, none gets through.
#[test]
fn replacing_loses_no_packet() {
    let test = "replacing_loses_no_packet";
    if !has_clang(test) {
        return;
    }
    in_namespace(test, || {
        let folder = tempfile::tempdir().unwrap();
        packages(folder.path());
        let served = Served::with(folder, |_| ());
        assert_eq!(load(&served, script(4)).status, "OK");
        let (passed, sending) = (Passed::of(0x1234), Arc::new(AtomicBool::new(true)));
        let flag = Arc::clone(&sending);
        let sender = std::thread::spawn(move || {
            while flag.load(Ordering::Relaxed) {
                send(10, 0x1234);
            }
        });
        for which in [5, 6, 7, 5, 6, 7, 5] {
            let replaced = load(&served, script(which));
            assert!(replaced.message.contains("replaced"), "{}", replaced.message);
        }
        wait_for(&true, || counted(&served, 1) > 0);
        sending.store(false, Ordering::Relaxed);
        sender.join().unwrap();
        assert_eq!(passed.count(), 0);
        served.end(false);
        send(10, 0x1234);
        wait_for(&true, || passed.count() > 0);
    });
}
