//! Calls that make no sense: nothing changes.

mod common;

use common::{DEVICE, Served, in_namespace, is_attached, is_attached_to, send, wait_for};
use moonhook_serve::proto::eclat::eclat_client::EclatClient;
use moonhook_serve::proto::eclat::{Entry, Map, Outcome, Script};
use moonhook_serve::proto::v1;
use moonhook_serve::proto::v1::moonhook_client::MoonhookClient;
use moonhook_serve::proto::v1::table_request::Operation;
use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

const SCRIPT: &str = "\
local seen = map{key = 'int', value = 'int', capacity = 10}
require('xdp').attach(function(pkt)
  if pkt:getuint16(12) == 0x3333 then seen[1] = 1 end
end)
";

/// A message of any bytes: a field of that number that has them, so that what is read is what they are.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

const METHODS: [&str; 15] = [
    "/Eclat/LoadConfiguration",
    "/Eclat/FetchConfiguration",
    "/Eclat/FetchPackage",
    "/Eclat/DumpMap",
    "/Eclat/GetMapValue",
    "/Eclat/Nothing",
    "/moonhook.v1.Moonhook/Load",
    "/moonhook.v1.Moonhook/Reload",
    "/moonhook.v1.Moonhook/Stop",
    "/moonhook.v1.Moonhook/List",
    "/moonhook.v1.Moonhook/Tables",
    "/moonhook.v1.Moonhook/Table",
    "/moonhook.v1.Moonhook/Exec",
    "/moonhook.v1.Moonhook/Flows",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
];

/// A script in bytes that may be none, as a message with any fields.
#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(bytes = "vec", tag = "1")]
    first: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    second: Vec<u8>,
    #[prost(uint64, tag = "4")]
    fourth: u64,
}

async fn call(channel: tonic::transport::Channel, number: u64) -> Result<(), Status> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let any =
        Any { first: bytes(number, number as usize % 70), second: bytes(!number, 9), fourth: number << 50 };
    let path = PathAndQuery::from_static(METHODS[number as usize % METHODS.len()]);
    grpc.unary::<Any, Any, _>(Request::new(any), path, ProstCodec::default()).await.map(drop)
}

/// Texts that calls may have: names, JSON, code, keys, and what is none of these.
fn text(seed: u64) -> String {
    const PARTS: [&str; 20] = [
        "",
        "pass",
        "seen",
        "1",
        "-1",
        "99999999999999999999",
        "\"",
        "{",
        "[1, 2",
        "null",
        "true",
        "{\"a\": 1}",
        "a b",
        "../x",
        "\0",
        "π\u{10ffff}",
        "def f(:\n",
        "local x = = 1",
        "own/counter/counts",
        "%d%n",
    ];
    let chosen = bytes(seed, 3);
    let count = usize::from(chosen[0].is_multiple_of(8)) + 1;
    chosen[1..][..count].iter().map(|part| PARTS[usize::from(*part) % PARTS.len()]).collect()
}

/// A call that makes no sense, but comes as far as those that do; its code, or none.
async fn plausible(channel: tonic::transport::Channel, number: u64) -> Option<String> {
    let (mut moonhook, mut eclat) = (MoonhookClient::new(channel.clone()), EclatClient::new(channel));
    let (first, second) = (text(number), text(!number));
    let name = if number.is_multiple_of(3) { first.clone() } else { "pass".to_string() };
    let table = if number.is_multiple_of(2) { first.clone() } else { "seen".to_string() };
    // None of these is a key or a value of the table, or a whole list.
    let wrong = format!("{second}\"x\"");
    let pair = v1::Pair { key: wrong.clone(), value: "1".into() };
    let pairs = v1::Pairs { pairs: vec![pair.clone(), v1::Pair { key: "1".into(), value: "2".into() }] };
    let change =
        |operation| v1::TableRequest { name: name.clone(), table: table.clone(), operation: Some(operation) };
    let source = v1::Source { name: format!("{first}.lua"), text: second.clone() };
    let outcome = |answer: Result<tonic::Response<Outcome>, Status>| match answer {
        Ok(answer) => {
            let message = answer.into_inner().message;
            let code = message.split_once("error[").and_then(|(_, rest)| rest.split(']').next());
            Err(code.unwrap_or_default().to_string())
        }
        Err(status) => Ok(Err(status)),
    };
    let answer = match number % 14 {
        0 => moonhook.table(change(Operation::Get(wrong))).await.map(drop),
        1 => moonhook.table(change(Operation::Set(pair))).await.map(drop),
        2 => moonhook.table(change(Operation::Load(pairs))).await.map(drop),
        3 => moonhook.table(change(Operation::Replace(pairs))).await.map(drop),
        4 => moonhook.table(change(Operation::Delete(wrong))).await.map(drop),
        5 => moonhook.exec(v1::ExecRequest { name, code: format!("= {second}") }).await.map(drop),
        6 => {
            let scripts = vec![source];
            moonhook.reload(v1::ReloadRequest { name, scripts }).await.map(drop)
        }
        7 => {
            let (mode, form) = (number as i32 % 5, second.len() as i32 % 4);
            let define = [(first.clone(), second.clone())].into();
            let (hook, on_error) = (text(number << 8), text(number << 9));
            let interfaces = vec![DEVICE.into(), second.clone()];
            let scripts = vec![source];
            let (name, replace) = (name, true);
            let load = v1::LoadRequest {
                name,
                scripts,
                interfaces,
                mode,
                form,
                define,
                hook,
                on_error,
                replace,
                ..Default::default()
            };
            moonhook.load(load).await.map(drop)
        }
        8 => moonhook.stop(v1::StopRequest { name: format!("{first}x") }).await.map(drop),
        9 => moonhook.list(v1::ListRequest { name: format!("{first}x") }).await.map(drop),
        10 => {
            let flow =
                v1::FlowFunction { key: first.clone(), source: second.clone(), name: text(number << 8) };
            let operation = Some(v1::flows_request::Operation::Set(flow));
            moonhook.flows(v1::FlowsRequest { name, table, operation }).await.map(drop)
        }
        11 => match outcome(eclat.load_configuration(Script { script: second, package: first }).await) {
            Err(code) => return Some(code),
            Ok(answer) => answer,
        },
        12 => match outcome(eclat.dump_map(Map { mapname: first }).await) {
            Err(code) => return Some(code),
            Ok(answer) => answer,
        },
        _ => match outcome(eclat.get_map_value(Entry { mapname: first, key: second }).await) {
            Err(code) => return Some(code),
            Ok(answer) => answer,
        },
    };
    let status = answer.err()?;
    let code = status.metadata().get("moonhook-code").map(|code| code.to_str().unwrap().to_string());
    Some(code.unwrap_or_else(|| format!("{:?}", status.code())))
}

/// What no call may change: what the script is, its table, and where programs are.
fn state(served: &Served) -> (Vec<v1::Script>, String, bool, bool) {
    let list = served.runtime.block_on(served.moonhook().list(v1::ListRequest::default())).unwrap();
    let mut scripts = list.into_inner().scripts;
    for script in &mut scripts {
        (script.json, script.uptime_seconds) = (String::new(), 0);
    }
    let operation = Some(Operation::Dump(0));
    let request = v1::TableRequest { name: "pass".into(), table: "seen".into(), operation };
    let table = served.runtime.block_on(served.moonhook().table(request)).unwrap().into_inner().json;
    (scripts, table, is_attached(), is_attached_to("other0"))
}

fn served() -> Served {
    let served = Served::start();
    let load = v1::LoadRequest {
        scripts: vec![v1::Source { name: "pass.lua".into(), text: SCRIPT.into() }],
        interfaces: vec![DEVICE.into()],
        ..Default::default()
    };
    served.runtime.block_on(served.moonhook().load(load)).unwrap();
    served
}

#[test]
fn malformed_calls_change_nothing() {
    in_namespace("malformed_calls_change_nothing", || {
        let served = served();
        send(1, 0x3333);
        wait_for(&true, || state(&served).1.contains("[[1,1]]"));
        let before = state(&served);
        let channel = served.channel();
        let codes: BTreeSet<String> = served.runtime.block_on(async {
            let mut calls = tokio::task::JoinSet::new();
            let mut codes = BTreeSet::new();
            for number in 0..1400 {
                calls.spawn(call(channel.clone(), number));
                if number.is_multiple_of(2) {
                    let channel = channel.clone();
                    calls.spawn(async move {
                        plausible(channel, number / 2).await.map_or(Ok(()), |code| Err(Status::aborted(code)))
                    });
                }
                while calls.len() >= 50 {
                    let answer = calls.join_next().await.unwrap().unwrap();
                    codes.extend(answer.err().map(|status| status.message().to_string()));
                }
            }
            let answers = calls.join_all().await;
            codes.extend(answers.into_iter().filter_map(|answer| Some(answer.err()?.message().to_string())));
            codes
        });
        // They have come as far as to scripts, names, tables, keys, maps, files, and the language.
        for code in ["MH1005", "MH0802", "MH1006", "MH0704", "MH1007"] {
            assert!(codes.contains(code), "{code} is not in {codes:?}");
        }
        assert_eq!(state(&served), before);
        // What is no HTTP/2 at all.
        let address = served.url.trim_start_matches("http://").to_string();
        for number in 0..200 {
            let mut stream = TcpStream::connect(&address).unwrap();
            let _ = stream.write_all(&bytes(number, 200));
        }
        assert_eq!(state(&served), before);
        served.end(false);
    });
}
