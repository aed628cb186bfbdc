//! Scripts that take the place of others with other interfaces and settings.

mod common;

use common::{DEVICE, Passed, Served, in_namespace, is_attached_to, send, wait_for};
use moonhook_serve::proto::v1;
use moonhook_serve::proto::v1::table_request::Operation;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const OTHER: &str = "other0";

/// Counts and drops all there is of a type.
const SCRIPT: &str = "\
local hits = map{key = 'int', value = 'int', capacity = 100}
require('xdp').attach(function(pkt)
  if pkt:getuint16(12) == 0x3333 then
    hits[1] = (hits[1] or 0) + 1
    return 1
  end
end)
";

fn load(interfaces: &[&str], form: v1::Form) -> v1::LoadRequest {
    v1::LoadRequest {
        scripts: vec![v1::Source { name: "count.lua".into(), text: SCRIPT.into() }],
        interfaces: interfaces.iter().map(|name| name.to_string()).collect(),
        form: form.into(),
        replace: true,
        ..Default::default()
    }
}

fn loaded(served: &Served, request: v1::LoadRequest) -> bool {
    served.runtime.block_on(served.moonhook().load(request)).unwrap().into_inner().replaced
}

fn hits(served: &Served) -> Value {
    let request = v1::TableRequest {
        name: "count".into(),
        table: "hits".into(),
        operation: Some(Operation::Get("1".into())),
    };
    let answer = served.runtime.block_on(served.moonhook().table(request)).unwrap().into_inner().json;
    serde_json::from_str(&answer).unwrap()
}

/// While the script moves between interfaces and forms, no packet gets by, and its table goes on.
#[test]
fn other_interfaces_and_settings_lose_no_packet() {
    in_namespace("other_interfaces_and_settings_lose_no_packet", || {
        let served = Served::start();
        assert!(!loaded(&served, load(&[DEVICE], v1::Form::Unspecified)));
        let (passed, sending) = (Passed::of(0x3333), Arc::new(AtomicBool::new(true)));
        let flag = Arc::clone(&sending);
        let sender = std::thread::spawn(move || {
            let mut sent = 0u64;
            while flag.load(Ordering::Relaxed) {
                send(10, 0x3333);
                sent += 10;
            }
            sent
        });
        for (interfaces, form) in [
            (&[DEVICE, OTHER][..], v1::Form::Unspecified),
            (&[DEVICE, OTHER], v1::Form::General),
            (&[DEVICE], v1::Form::Unspecified),
            (&[OTHER, DEVICE], v1::Form::Expanded),
            (&[DEVICE], v1::Form::General),
        ] {
            assert!(loaded(&served, load(interfaces, form)));
            assert!(is_attached_to(DEVICE));
            assert_eq!(is_attached_to(OTHER), interfaces.contains(&OTHER), "{interfaces:?}");
        }
        sending.store(false, Ordering::Relaxed);
        let sent = sender.join().unwrap();
        wait_for(&json!(sent), || hits(&served));
        assert_eq!(passed.count(), 0);
        // From one interface to another.
        assert!(loaded(&served, load(&[OTHER], v1::Form::Unspecified)));
        assert_eq!((is_attached_to(DEVICE), is_attached_to(OTHER)), (false, true));
        assert_eq!(hits(&served), json!(sent));
        let list =
            served.runtime.block_on(served.moonhook().list(v1::ListRequest::default())).unwrap().into_inner();
        assert_eq!(list.scripts[0].interface, OTHER);
        served.end(false);
        assert!(!is_attached_to(OTHER));
    });
}

/// What is refused leaves the present script with its interfaces, and it can be reloaded there.
#[test]
fn what_is_refused_changes_nothing() {
    in_namespace("what_is_refused_changes_nothing", || {
        let served = Served::start();
        loaded(&served, load(&[DEVICE], v1::Form::Unspecified));
        send(2, 0x3333);
        wait_for(&json!(2), || hits(&served));
        let twice = format!("{SCRIPT} local x = = 1");
        let malformed = v1::Source { name: "count.lua".into(), text: twice };
        for request in [
            load(&[OTHER, "nowhere"], v1::Form::Unspecified),
            load(&[DEVICE, OTHER, "nowhere"], v1::Form::Unspecified),
            v1::LoadRequest { scripts: vec![malformed], ..load(&[OTHER], v1::Form::General) },
        ] {
            served.runtime.block_on(served.moonhook().load(request)).unwrap_err();
            assert_eq!((is_attached_to(DEVICE), is_attached_to(OTHER)), (true, false));
            send(1, 0x3333);
            let request = v1::ReloadRequest { name: "count".into(), scripts: Vec::new() };
            served.runtime.block_on(served.moonhook().reload(request)).unwrap();
        }
        wait_for(&json!(5), || hits(&served));
        served.end(false);
    });
}

/// Pins go with the interfaces, and the next service finds the script where the last one has put it.
#[test]
fn pins_follow_other_interfaces() {
    in_namespace("pins_follow_other_interfaces", || {
        let bpffs = PathBuf::from(format!("/sys/fs/bpf/moonhook-replacing-{}", std::process::id()));
        let with = |folder| {
            let bpffs = bpffs.clone();
            Served::with(folder, move |config| (config.pin, config.bpffs) = (true, Some(bpffs)))
        };
        let served = with(tempfile::tempdir().unwrap());
        loaded(&served, load(&[DEVICE], v1::Form::Unspecified));
        send(2, 0x3333);
        assert!(loaded(&served, load(&[OTHER, DEVICE], v1::Form::Unspecified)));
        let refused = load(&[OTHER, "nowhere"], v1::Form::Unspecified);
        served.runtime.block_on(served.moonhook().load(refused)).unwrap_err();
        let folder = served.end(false);
        assert!(is_attached_to(DEVICE) && is_attached_to(OTHER));
        send(1, 0x3333);
        let served = with(folder);
        served.logged("in the place of what was pinned");
        let health = || served.runtime.block_on(served.moonhook().health(v1::HealthRequest {}));
        wait_for(&1, || health().unwrap().into_inner().scripts);
        wait_for(&json!(3), || hits(&served));
        assert!(loaded(&served, load(&[OTHER], v1::Form::Unspecified)));
        assert_eq!((is_attached_to(DEVICE), is_attached_to(OTHER)), (false, true));
        let links = std::fs::read_dir(bpffs.join("count")).unwrap().flatten();
        let links = links.filter(|entry| entry.file_name().to_string_lossy().starts_with("link-"));
        assert_eq!(links.count(), 1);
        served.runtime.block_on(served.moonhook().stop(v1::StopRequest { name: "count".into() })).unwrap();
        assert!(!is_attached_to(OTHER));
        served.end(false);
        let _ = std::fs::remove_dir(&bpffs);
        assert!(!bpffs.exists());
    });
}

/// The kernel has no exchange of modes: the script ends, and begins anew.
#[test]
fn another_mode_begins_anew() {
    in_namespace("another_mode_begins_anew", || {
        let served = Served::start();
        loaded(&served, load(&[DEVICE], v1::Form::Unspecified));
        send(2, 0x3333);
        wait_for(&json!(2), || hits(&served));
        let generic = |interface| v1::LoadRequest {
            mode: v1::Mode::Generic.into(),
            ..load(&[interface], v1::Form::Unspecified)
        };
        assert!(loaded(&served, generic(DEVICE)));
        assert_eq!(hits(&served), Value::Null);
        let status = |served: &Served| {
            let list = served.runtime.block_on(served.moonhook().list(v1::ListRequest::default())).unwrap();
            let script = list.into_inner().scripts.remove(0);
            (script.interface, script.mode)
        };
        assert_eq!(status(&served), (DEVICE.to_string(), "generic".to_string()));
        // One that cannot be does not leave the interface without the present one.
        assert!(
            served
                .runtime
                .block_on(served.moonhook().load(load(&[DEVICE, "nowhere"], v1::Form::Unspecified)))
                .is_err()
        );
        assert_eq!(status(&served), (DEVICE.to_string(), "generic".to_string()));
        served.end(false);
    });
}
