//! Clients that misbehave, and many at once: others are answered all the same.

mod common;

use common::{DEVICE, Served, in_namespace, is_attached, skipped};
use moonhook_serve::proto::v1;
use moonhook_serve::proto::v1::moonhook_client::MoonhookClient;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SCRIPT: &str = "require('xdp').attach(function(pkt) return end)\n";

/// The script is there and answers.
fn script_runs(served: &Served) {
    let list = served.runtime.block_on(served.moonhook().list(v1::ListRequest::default())).unwrap();
    assert_eq!((list.into_inner().scripts.len(), is_attached()), (1, true));
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

/// Whether the service has not let go of a connection.
fn is_held(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut first = [0; 512];
    loop {
        match (&*stream).read(&mut first) {
            // What the service says by itself: its settings.
            Ok(count) if count > 0 => {}
            Ok(_) => return false,
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

/// Waits until the service has let go of a connection, however long a busy machine takes for that.
fn let_go(stream: &TcpStream) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut stream = stream;
    if let Err(error) = stream.read_to_end(&mut Vec::new()) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
}

#[test]
fn clients_that_say_nothing_hold_up_nobody() {
    in_namespace("clients_that_say_nothing_hold_up_nobody", || {
        let served = served();
        let address = served.url.trim_start_matches("http://").to_string();
        let begun = Instant::now();
        let mut silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&address).unwrap()).collect();
        // The beginning of HTTP/2, and then nothing.
        silent[0].write_all(b"PRI * HTTP/2.0\r\n").unwrap();
        silent[1]
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x20\x01\0\0\0\x01")
            .unwrap();
        let last = TcpStream::connect(&address).unwrap();
        script_runs(&served);
        // Others were answered while the silent ones had their connections.
        assert!(is_held(&last) || begun.elapsed() > Duration::from_secs(9));
        // After some time they are let go of, whatever they have begun with.
        silent[..3].iter().for_each(let_go);
        assert!(begun.elapsed() > Duration::from_secs(9), "{:?}", begun.elapsed());
        script_runs(&served);
        // One that has brought calls, and would be waited for longer than the end may take.
        let idle = served.channel();
        served.runtime.block_on(MoonhookClient::new(idle.clone()).list(v1::ListRequest::default())).unwrap();
        served.end(false);
        drop(idle);
    });
}

/// Without the token, a connection is let go of like one that says nothing, whatever is asked by it; with TLS as well.
#[test]
fn who_is_not_let_in_keeps_no_connection() {
    in_namespace("who_is_not_let_in_keeps_no_connection", || {
        let served =
            Served::with(tempfile::tempdir().unwrap(), |config| config.token = Some("secret".into()));
        let address = served.url.trim_start_matches("http://").to_string();
        let mut stream = TcpStream::connect(&address).unwrap();
        // Settings, and the headers of a call without a token: `:method POST`, `:scheme http`, `:path /`.
        stream
            .write_all(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x03\x01\x05\0\0\0\x01\x83\x86\x84",
            )
            .unwrap();
        let begun = Instant::now();
        // It answers pings, so that nothing else ends it.
        let answering = stream.try_clone().unwrap();
        let ended = std::thread::spawn(move || answer_pings(answering)).join().unwrap();
        assert!(ended, "it is held after {:?}", begun.elapsed());
        served.end(false);
    });
}

/// With TLS, what comes in first is no beginning of HTTP/2.
#[test]
fn who_says_nothing_behind_tls_keeps_no_connection() {
    let test = "who_says_nothing_behind_tls_keeps_no_connection";
    if Command::new("openssl").arg("version").output().is_err() {
        return skipped(test, "there is no openssl");
    }
    in_namespace(test, || {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let made = Command::new("openssl")
            .args(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=x".split(' '),
            )
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let served = Served::with(folder, |config| config.tls = Some((certificate, key)));
        let mut client = Command::new("openssl")
            .args(["s_client", "-quiet", "-connect", served.url.trim_start_matches("http://")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while client.try_wait().unwrap().is_none() {
            if begun.elapsed() > Duration::from_secs(60) {
                client.kill().unwrap();
                panic!("it is held");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(begun.elapsed() > Duration::from_secs(5), "it had no connection");
        served.end(false);
    });
}

/// Answers pings of HTTP/2 until the connection ends; false if it does not within a minute.
fn answer_pings(mut stream: TcpStream) -> bool {
    let begun = Instant::now();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut header = [0; 9];
    while begun.elapsed() < Duration::from_secs(60) {
        let Ok(()) = stream.read_exact(&mut header) else { return true };
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let mut payload = vec![0; length];
        let Ok(()) = stream.read_exact(&mut payload) else { return true };
        if header[3] == 6 && header[4] & 1 == 0 {
            header[4] = 1;
            let _ = stream.write_all(&[&header[..], &payload].concat());
        }
    }
    false
}

#[test]
fn two_hundred_clients_are_answered_at_once() {
    in_namespace("two_hundred_clients_are_answered_at_once", || {
        let served = served();
        let channels: Vec<_> = (0..200).map(|_| served.channel()).collect();
        served.runtime.block_on(async {
            let mut calls = tokio::task::JoinSet::new();
            for (number, channel) in channels.into_iter().enumerate() {
                let mut client = MoonhookClient::new(channel);
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
            let answers = tokio::time::timeout(Duration::from_secs(240), calls.join_all()).await.unwrap();
            assert!(answers.into_iter().all(|watched| watched));
        });
        script_runs(&served);
        served.end(false);
    });
}
