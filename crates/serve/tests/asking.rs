//! Lua code, events and flows of scripts, by the client that commands have.

mod common;

use common::{DEVICE, Served, in_namespace, send, wait_for};
use moonhook_daemon::{
    Executed, FlowChanged, FlowInfo, FlowOperation, FlowPage, FlowTableInfo, Name, Request,
};
use moonhook_serve::proto::v1;
use moonhook_serve::{Client, ServeError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Loads a script, and does something on a thread that has a client.
fn asked(text: &str, work: impl FnOnce(&dyn Fn() -> Client, Name) + Send + 'static) -> Served {
    let served = Served::start();
    let load = v1::LoadRequest {
        scripts: vec![v1::Source { name: "script.lua".into(), text: text.into() }],
        interfaces: vec![DEVICE.into()],
        ..Default::default()
    };
    served.runtime.block_on(served.moonhook().load(load)).unwrap();
    let url = served.url.clone();
    std::thread::scope(|scope| {
        let connect = move || Client::connect(&url, None, None).unwrap();
        scope.spawn(move || work(&connect, "script".parse().unwrap())).join().unwrap();
    });
    served
}

fn exec(client: &mut Client, name: &Name, code: &str) -> Executed {
    client.ask(name, &Request::Exec { code: code.into() }).unwrap()
}

#[test]
fn code_runs_in_the_state_of_a_script() {
    in_namespace("code_runs_in_the_state_of_a_script", || {
        let served = asked(
            "total = 7\nrequire('xdp').attach(function(pkt) total = total + 1 end)",
            |connect, name| {
                let mut client = connect();
                let done = exec(&mut client, &name, "print('a') return total, 'b'");
                assert_eq!(
                    (done.printed, done.results),
                    (vec!["a".to_string()], vec!["7".into(), "b".into()])
                );
                let failed = exec(&mut client, &name, "error('no')").error.unwrap();
                assert!(failed.message.contains("no"), "{}", failed.message);
                let missing =
                    client.ask::<Executed>(&"none".parse().unwrap(), &Request::Exec { code: "1".into() });
                assert_eq!(missing.unwrap_err().code(), "MH1005");
            },
        );
        served.end(false);
    });
}

#[test]
fn events_are_followed_until_the_script_ends() {
    in_namespace("events_are_followed_until_the_script_ends", || {
        let script =
            "require('xdp').attach(function(pkt) if pkt:getuint16(12) == 0x1212 then print('hello') end end)";
        let served = asked(script, |connect, name| {
            let missing = connect().follow(&"none".parse().unwrap()).err().unwrap();
            assert_eq!(missing.code(), "MH1005");
            let mut events = connect().follow(&name).unwrap();
            send(1, 0x1212);
            let print = events.event().unwrap().unwrap();
            assert_eq!(print, json!({ "type": "print", "text": "hello" }));
            let mut client = connect();
            let again = Request::Reload { scripts: None, allow_read: Vec::new() };
            client.ask::<Value>(&name, &again).unwrap();
            assert_eq!(events.event().unwrap().unwrap()["type"], "reloaded");
            client.ask::<()>(&name, &Request::Stop).unwrap();
            assert_eq!(events.event().unwrap().unwrap()["type"], "ended");
            assert_eq!(events.event().unwrap(), None);
        });
        served.end(false);
    });
}

/// Who follows events does not hold up the end, and is told of it rather than cut off.
#[test]
fn events_end_with_the_service() {
    in_namespace("events_end_with_the_service", || {
        let served = asked("require('xdp').attach(function(pkt) return end)", |_, _| ());
        let url = served.url.clone();
        let (following, begun) = std::sync::mpsc::channel();
        let follower = std::thread::spawn(move || {
            let mut events =
                Client::connect(&url, None, None).unwrap().follow(&"script".parse().unwrap()).unwrap();
            following.send(()).unwrap();
            std::iter::from_fn(|| events.event().transpose()).collect::<Result<Vec<Value>, ServeError>>()
        });
        begun.recv().unwrap();
        served.end(false);
        assert_eq!(follower.join().unwrap().unwrap(), Vec::<Value>::new());
    });
}

const FLOWS: &str = "\
local flow = require 'flow'
total = 0
local types = flow.new{key = function(pkt) return pkt:getuint16(12) end, capacity = 100, default = function(pkt) end}
types:set({0x1111}, function(pkt) total = total + 1 end)
require('xdp').attach(types)
";

fn flow<T: DeserializeOwned>(
    client: &mut Client,
    name: &Name,
    operation: FlowOperation,
) -> Result<T, ServeError> {
    client.ask(name, &Request::Flow { table: None, operation })
}

#[test]
fn flows_are_listed_and_get_other_functions() {
    in_namespace("flows_are_listed_and_get_other_functions", || {
        let served = asked(FLOWS, |connect, name| {
            let mut client = connect();
            let total = |client: &mut Client| exec(client, &name, "total").results.concat();
            let mut set = |key: &str, source: &str| {
                let (key, source, called) = (key.into(), source.into(), Some("own.lua".into()));
                flow::<FlowChanged>(&mut client, &name, FlowOperation::Set { key, source, name: called })
            };
            send(3, 0x1111);
            assert_eq!(set("8738", "function(pkt) total = total + 100 end").unwrap().form, "expanded code");
            send(2, 0x2222);
            // What is refused leaves the flow as it is.
            let refused = set("8738", "function(pkt) total = ").unwrap_err();
            assert!(refused.to_string().contains("own.lua"), "{refused}");
            send(1, 0x2222);
            let mut other = connect();
            let asked = std::cell::RefCell::new(&mut other);
            wait_for(&"303".to_string(), || total(&mut asked.borrow_mut()));
            let tables: Vec<FlowTableInfo> = client.ask(&name, &Request::FlowTables).unwrap();
            assert_eq!((tables[0].name.as_str(), tables[0].flows, tables[0].functions), ("flows", 2, 2));
            let page: FlowPage = flow(&mut client, &name, FlowOperation::List { from: 0 }).unwrap();
            let mut flows: Vec<(&str, u64)> =
                page.flows.iter().map(|flow| (&*flow.key, flow.packets)).collect();
            flows.sort_unstable();
            assert_eq!((flows, page.next), (vec![("4369", 3), ("8738", 3)], None));
            let key = || "8738".to_string();
            let one: Option<FlowInfo> = flow(&mut client, &name, FlowOperation::Get { key: key() }).unwrap();
            assert_eq!(one.unwrap().source.unwrap(), "function(pkt) total = total + 100 end");
            for expected in [true, false] {
                assert_eq!(
                    flow::<bool>(&mut client, &name, FlowOperation::Delete { key: key() }).unwrap(),
                    expected
                );
            }
            assert!(
                flow::<Option<FlowInfo>>(&mut client, &name, FlowOperation::Get { key: key() })
                    .unwrap()
                    .is_none()
            );
        });
        served.end(false);
    });
}
