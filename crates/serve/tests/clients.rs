//! Clients that misbehave, and many at once: others are answered all the same.

mod common;

use common::{DEVICE, Served, in_namespace, is_attached};
use moonhook_serve::proto::v1;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

const SCRIPT: &str = "require('xdp').attach(function(pkt) return end)\n";

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

fn script_runs(served: &Served) {
    let begun = Instant::now();
    let list =
        served.runtime.block_on(served.moonhook().list(v1::ListRequest::default())).unwrap().into_inner();
    assert_eq!(list.scripts.len(), 1);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(is_attached());
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
        let channel = served.channel();
        served.runtime.block_on(async {
            let mut calls = tokio::task::JoinSet::new();
            for number in 0..2000 {
                calls.spawn(call(channel.clone(), number));
                if calls.len() == 50 {
                    calls.join_next().await;
                }
            }
            let answers = calls.join_all().await;
            assert!(answers.iter().any(Result::is_err));
        });
        script_runs(&served);
        // What is no HTTP/2 at all.
        let address = served.url.trim_start_matches("http://").to_string();
        for number in 0..200 {
            let mut stream = TcpStream::connect(&address).unwrap();
            let _ = stream.write_all(&bytes(number, 200));
        }
        script_runs(&served);
        served.end(false);
    });
}

#[test]
fn clients_that_say_nothing_hold_up_nobody() {
    in_namespace("clients_that_say_nothing_hold_up_nobody", || {
        let served = served();
        let address = served.url.trim_start_matches("http://").to_string();
        let mut silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&address).unwrap()).collect();
        // The beginning of HTTP/2, and then nothing.
        silent[0].write_all(b"PRI * HTTP/2.0\r\n").unwrap();
        silent[1]
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x20\x01\0\0\0\x01")
            .unwrap();
        script_runs(&served);
        // After some time they are let go of.
        silent[2].set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let begun = Instant::now();
        let _ = silent[2].read_to_end(&mut Vec::new());
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
        let begun = Instant::now();
        served.end(false);
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    });
}

#[test]
fn two_hundred_clients_are_answered_at_once() {
    in_namespace("two_hundred_clients_are_answered_at_once", || {
        let served = served();
        let channels: Vec<_> = (0..200).map(|_| served.channel()).collect();
        served.runtime.block_on(async {
            let mut calls = tokio::task::JoinSet::new();
            for (number, channel) in channels.into_iter().enumerate() {
                let mut client = v1::moonhook_client::MoonhookClient::new(channel);
                calls.spawn(async move {
                    let watched = client.events(v1::EventsRequest::default()).await;
                    for _ in 0..5 {
                        let list = client.list(v1::ListRequest::default()).await.unwrap().into_inner();
                        assert_eq!(list.scripts.len(), 1);
                        if number % 10 == 0 {
                            let request = v1::ReloadRequest { name: "pass".into(), scripts: Vec::new() };
                            client.reload(request).await.unwrap();
                        }
                    }
                    watched.is_ok()
                });
            }
            let answers = tokio::time::timeout(Duration::from_secs(60), calls.join_all()).await.unwrap();
            assert!(answers.into_iter().all(|watched| watched));
        });
        script_runs(&served);
        served.end(false);
    });
}
