//! Scripts in Lua by the service's own calls, and by the client that commands have.

mod common;

use common::{DEVICE, Served, in_namespace, is_attached, send, wait_for};
use moonhook_daemon::{Name, Reloaded, Request, Status, TableOperation};
use moonhook_serve::Client;
use moonhook_serve::proto::v1;
use moonhook_serve::proto::v1::table_request::Operation;
use serde_json::{Value, json};

const SCRIPT: &str = "\
local hits = map{key = 'int', value = 'int', capacity = 100}
require('xdp').attach(function(pkt)
  hits[pkt:getuint16(12)] = (hits[pkt:getuint16(12)] or 0) + 1
  if pkt:getuint16(12) == 0x1212 then print('hello') end
end)
";

fn load(text: &str, replace: bool) -> v1::LoadRequest {
    v1::LoadRequest {
        scripts: vec![v1::Source { name: "count.lua".into(), text: text.into() }],
        interfaces: vec![DEVICE.into()],
        replace,
        ..Default::default()
    }
}

fn get(served: &Served, key: &str) -> Value {
    let request = v1::TableRequest {
        name: "count".into(),
        table: "hits".into(),
        operation: Some(Operation::Get(key.into())),
    };
    let answer = served.runtime.block_on(served.moonhook().table(request)).unwrap().into_inner().json;
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn a_script_is_loaded_asked_replaced_and_stopped() {
    in_namespace("a_script_is_loaded_asked_replaced_and_stopped", || {
        let served = Served::start();
        let mut moonhook = served.moonhook();
        let mut events =
            served.runtime.block_on(moonhook.events(v1::EventsRequest::default())).unwrap().into_inner();
        let loaded = served.runtime.block_on(moonhook.load(load(SCRIPT, false))).unwrap().into_inner();
        assert_eq!((loaded.name.as_str(), loaded.replaced), ("count", false));
        assert!(is_attached());
        send(3, 0x1212);
        wait_for(&json!(3), || get(&served, "4626"));
        let kinds: Vec<String> =
            (0..2).map(|_| served.runtime.block_on(events.message()).unwrap().unwrap().r#type).collect();
        assert_eq!(kinds, ["attached", "print"]);
        // One of the name is there; another one that is refused changes nothing.
        let taken = served.runtime.block_on(moonhook.load(load(SCRIPT, false))).unwrap_err();
        assert_eq!(taken.code(), tonic::Code::AlreadyExists);
        let refused = served.runtime.block_on(moonhook.load(load("x = = 1", true))).unwrap_err();
        assert_eq!(refused.metadata().get("moonhook-code").unwrap(), "MH0102");
        assert!(refused.message().contains("count.lua:1"), "{}", refused.message());
        wait_for(&json!(3), || get(&served, "4626"));
        // The table goes on in one that takes its place.
        let again = served.runtime.block_on(moonhook.load(load(&format!("{SCRIPT}-- again"), true))).unwrap();
        assert!(again.into_inner().replaced);
        wait_for(&json!(3), || get(&served, "4626"));
        served.runtime.block_on(moonhook.stop(v1::StopRequest { name: "count".into() })).unwrap();
        assert!(!is_attached());
        let missing = served.runtime.block_on(moonhook.stop(v1::StopRequest { name: "count".into() }));
        assert_eq!(missing.unwrap_err().code(), tonic::Code::NotFound);
        let folder = served.end(false);
        assert_eq!(
            std::fs::read_dir(folder.path().join("state")).unwrap().count(),
            1,
            "the lock alone is left"
        );
    });
}

#[test]
fn the_client_asks_as_commands_do() {
    in_namespace("the_client_asks_as_commands_do", || {
        let served = Served::start();
        let (mut moonhook, name) = (served.moonhook(), "count".parse::<Name>().unwrap());
        served.runtime.block_on(moonhook.load(load(SCRIPT, false))).unwrap();
        let url = served.url.clone();
        let asked = std::thread::spawn(move || {
            let mut client = Client::connect(&url, None, None).unwrap();
            let names: Vec<Status> = client.list().unwrap();
            assert_eq!(names[0].interface.as_deref(), Some(DEVICE));
            let reloaded: Reloaded =
                client.ask(&name, &Request::Reload { scripts: None, allow_read: Vec::new() }).unwrap();
            assert_eq!(reloaded.tables.len(), 1);
            let missing = client.ask::<Status>(&"none".parse().unwrap(), &Request::Status).unwrap_err();
            assert_eq!(missing.code(), "MH1005");
            let nowhere = Client::connect("http://127.0.0.1:1", None, None).err().unwrap();
            assert_eq!(nowhere.code(), "MH1014");
            // What no call can have is not sent.
            let operate = |operation| Request::Table { table: "hits".into(), operation };
            let entries = (0..200).map(|number| (json!(number), json!("x".repeat(30_000)))).collect();
            client.ask::<()>(&name, &operate(TableOperation::Begin)).unwrap();
            let keys = Vec::new();
            client.ask::<Value>(&name, &operate(TableOperation::Add { entries, keys })).unwrap();
            let long = client.ask::<Value>(&name, &operate(TableOperation::Commit)).unwrap_err();
            assert_eq!(long.code(), "MH1006");
            assert!(long.to_string().contains("`--add`"), "{long}");
            client.ask::<()>(&name, &Request::Stop).unwrap();
        });
        asked.join().unwrap();
        assert!(!is_attached());
        served.end(false);
    });
}

#[test]
fn scripts_of_the_folder_are_started_and_go_with_the_service() {
    in_namespace("scripts_of_the_folder_are_started_and_go_with_the_service", || {
        let folder = tempfile::tempdir().unwrap();
        let scripts = folder.path().join("scripts");
        std::fs::create_dir(&scripts).unwrap();
        std::fs::write(scripts.join("count.lua"), SCRIPT).unwrap();
        std::fs::write(scripts.join("count.toml"), format!("interfaces = [\"{DEVICE}\"]\n")).unwrap();
        std::fs::write(scripts.join("bad.lua"), "x = = 1").unwrap();
        let served = Served::with(folder, |_| ());
        served.logged("bad: ");
        served.logged("count: attached to");
        assert!(is_attached());
        let mut moonhook = served.moonhook();
        let health = served.runtime.block_on(moonhook.health(v1::HealthRequest {})).unwrap().into_inner();
        assert_eq!(health.scripts, 1);
        served.end(false);
        assert!(!is_attached());
    });
}

#[test]
fn calls_need_the_token_and_other_machines_too() {
    in_namespace("calls_need_the_token_and_other_machines_too", || {
        let folder = tempfile::tempdir().unwrap();
        let served = Served::with(folder, |config| config.token = Some("secret".into()));
        let url = served.url.clone();
        let refused = served.runtime.block_on(served.moonhook().health(v1::HealthRequest {})).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::Unauthenticated);
        let asked = std::thread::spawn(move || {
            let with = |token: &str| Client::connect(&url, Some(token), None).unwrap().list();
            assert!(with("secret").unwrap().is_empty());
            assert_eq!(with("secres").unwrap_err().code(), "MH1013");
        });
        asked.join().unwrap();
        let folder = served.end(false);
        let mut config = common::config(folder.path());
        config.listen = "0.0.0.0:0".parse().unwrap();
        assert_eq!(moonhook_serve::Bound::new(&config).err().unwrap().code(), "MH1016");
        config.listen = "127.0.0.1:0".parse().unwrap();
        config.tls = Some(("/nowhere/cert.pem".into(), "/nowhere/key.pem".into()));
        assert_eq!(moonhook_serve::Bound::new(&config).err().unwrap().code(), "MH1012");
    });
}

/// A service that ends leaves its scripts attached, and the next one has them with what their tables hold.
#[test]
fn what_is_pinned_survives_a_restart() {
    in_namespace("what_is_pinned_survives_a_restart", || {
        let bpffs = std::path::PathBuf::from(format!("/sys/fs/bpf/moonhook-serve-{}", std::process::id()));
        let with = |folder| {
            let bpffs = bpffs.clone();
            Served::with(folder, move |config| (config.pin, config.bpffs) = (true, Some(bpffs)))
        };
        let served = with(tempfile::tempdir().unwrap());
        served.runtime.block_on(served.moonhook().load(load(SCRIPT, false))).unwrap();
        send(5, 0x5555);
        let folder = served.end(false);
        assert!(is_attached());
        send(2, 0x5555);
        let served = with(folder);
        served.logged("in the place of what was pinned");
        let health = || served.runtime.block_on(served.moonhook().health(v1::HealthRequest {}));
        wait_for(&true, || health().unwrap().into_inner().scripts > 0);
        wait_for(&json!(7), || get(&served, "21845"));
        served.runtime.block_on(served.moonhook().stop(v1::StopRequest { name: "count".into() })).unwrap();
        assert!(!is_attached());
        served.end(false);
        let _ = std::fs::remove_dir(&bpffs);
        assert!(!bpffs.exists());
    });
}
