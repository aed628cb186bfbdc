//! A server and its clients: order, bounds, and that nobody can hold up others.

use moonhook_daemon::{
    Client, DaemonError, Delivery, MAX_REQUEST, Name, Publisher, Request, RuntimeFolder, Server,
};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Answers `exec` with its code and refuses the rest.
fn echo(delivery: Delivery) {
    let Delivery::Request(pending) = delivery else { return };
    pending.reply.send(match pending.request {
        Request::Exec { code } => Ok(code.into()),
        other => Err(DaemonError::Unavailable { what: format!("{other:?}") }.into()),
    });
}

struct Place {
    server: Option<Server>,
    publisher: Publisher,
    folder: RuntimeFolder,
    name: Name,
    _files: tempfile::TempDir,
}

impl Place {
    /// A server whose requests are answered by `echo`.
    fn answering() -> Place {
        let (place, pending) = Place::silent();
        std::thread::spawn(move || pending.iter().for_each(echo));
        place
    }

    /// A server whose requests nobody answers.
    fn silent() -> (Place, Receiver<Delivery>) {
        let files = tempfile::tempdir().unwrap();
        let folder = RuntimeFolder::new(files.path().join("run"));
        let name: Name = "test".parse().unwrap();
        let (sender, receiver) = channel();
        let publisher = Publisher::default();
        let claim = folder.claim(&name).unwrap();
        let server =
            Server::start(claim, publisher.clone(), move |pending| drop(sender.send(pending))).unwrap();
        (Place { server: Some(server), publisher, folder, name, _files: files }, receiver)
    }

    fn socket(&self) -> PathBuf {
        self.folder.socket(&self.name)
    }

    fn client(&self) -> Client {
        let client = Client::connect(&self.folder, &self.name).unwrap();
        client.set_timeout(Some(Duration::from_secs(20))).unwrap();
        client
    }

    fn raw(&self) -> (UnixStream, BufReader<UnixStream>) {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        (stream, reader)
    }
}

fn exec(code: &str) -> Request {
    Request::Exec { code: code.to_string() }
}

fn line(reader: &mut impl BufRead) -> Value {
    let mut text = String::new();
    reader.read_line(&mut text).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn requests_are_answered_in_order_and_failures_have_codes() {
    let place = Place::answering();
    let mut client = place.client();
    for number in 0..100 {
        let answer: String = client.ask(&exec(&number.to_string())).unwrap().unwrap();
        assert_eq!(answer, number.to_string());
    }
    let refused = client.ask::<Value>(&Request::Status).unwrap().unwrap_err();
    assert_eq!((refused.code.as_str(), refused.exit), ("MH0810", 3));
    let (mut stream, mut reader) = place.raw();
    let requests: String = (0..50)
        .map(|n| json!({"version": 1, "request": "exec", "code": n.to_string()}).to_string() + "\n")
        .collect();
    stream.write_all(requests.as_bytes()).unwrap();
    for number in 0..50 {
        assert_eq!(line(&mut reader)["answer"], number.to_string());
    }
}

#[test]
fn bad_lines_are_answered_and_hurt_nobody() {
    let place = Place::answering();
    let (mut stream, mut reader) = place.raw();
    let huge = vec![b'x'; MAX_REQUEST + 1];
    for bad in
        [&b"hello"[..], b"", b"\xff\xfe", b"{\"version\":9}", b"{\"version\":1,\"request\":\"fly\"}", &huge]
    {
        stream.write_all(bad).unwrap();
        stream.write_all(b"\n").unwrap();
        assert_eq!(line(&mut reader)["error"]["code"], "MH0806");
    }
    let mut largest = json!({"version": 1, "request": "exec", "code": ""}).to_string();
    let code = "y".repeat(MAX_REQUEST - largest.len());
    largest = json!({"version": 1, "request": "exec", "code": code}).to_string();
    assert_eq!(largest.len(), MAX_REQUEST);
    writeln!(stream, "{largest}").unwrap();
    assert_eq!(line(&mut reader)["answer"].as_str().unwrap().len(), code.len());
    // A client that goes in the middle of a line, or without reading its answer.
    drop(place.raw().0.write_all(b"{\"version\":1,"));
    let (mut gone, _) = place.raw();
    writeln!(gone, "{}", json!({"version": 1, "request": "exec", "code": "x"})).unwrap();
    drop(gone);
    assert_eq!(place.client().ask::<String>(&exec("z")).unwrap().unwrap(), "z");
}

/// A line that is too long is answered before its end, which may never come; and what comes behind it is a request again.
#[test]
fn an_oversized_line_is_answered_without_its_end() {
    let place = Place::answering();
    let (mut stream, mut reader) = place.raw();
    for _ in 0..3 {
        stream.write_all(&vec![b'x'; MAX_REQUEST + 1]).unwrap();
        assert_eq!(line(&mut reader)["error"]["code"], "MH0806");
        stream.write_all(&vec![b'y'; 2 * MAX_REQUEST]).unwrap();
        writeln!(stream).unwrap();
        writeln!(stream, "{}", json!({"version": 1, "request": "exec", "code": "z"})).unwrap();
        assert_eq!(line(&mut reader)["answer"], "z");
    }
}

/// No request without a program behind it, and none that means another folder.
#[test]
fn requests_without_sense_are_refused() {
    let place = Place::answering();
    let (mut stream, mut reader) = place.raw();
    for (request, part) in [
        (json!({"version": 1, "request": "reload", "scripts": []}), "`scripts` is empty"),
        (json!({"version": 1, "request": "reload", "scripts": [""]}), "absolute"),
        (json!({"version": 1, "request": "reload", "scripts": ["x.lua"]}), "absolute"),
        (json!({"version": 1, "request": "reload", "scripts": 7}), "sequence"),
        (json!({"version": 1, "request": "table", "table": "", "operation": "clear"}), "empty"),
        (json!({"version": 1, "request": "table", "table": null, "operation": "clear"}), "string"),
        (
            json!({"version": 1, "request": "table", "table": "t", "operation": "dump", "dump": -1}),
            "invalid value",
        ),
        (
            json!({"version": 1, "request": "table", "table": "t", "operation": "load", "entries": [[1]]}),
            "length",
        ),
        (json!({"version": 1u64 << 40, "request": "status"}), "invalid value"),
    ] {
        writeln!(stream, "{request}").unwrap();
        let answer = line(&mut reader);
        assert_eq!(answer["error"]["code"], "MH0806", "{request}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{request}: {answer}");
    }
    let nested = format!("{{\"version\":1,\"request\":\"exec\",\"code\":{}", "[".repeat(100_000));
    writeln!(stream, "{nested}").unwrap();
    assert_eq!(line(&mut reader)["error"]["code"], "MH0806");
}

/// Where all connections are at work, a new client is told so.
#[test]
fn a_client_without_room_is_told_so() {
    let (place, pending) = Place::silent();
    let mut working = Vec::new();
    for _ in 0..64 {
        let (mut stream, reader) = place.raw();
        writeln!(stream, "{}", json!({"version": 1, "request": "status"})).unwrap();
        working.push((stream, reader, pending.recv_timeout(Duration::from_secs(20)).unwrap()));
    }
    let (_stream, mut reader) = place.raw();
    assert_eq!(line(&mut reader)["error"]["code"], "MH0809");
}

#[test]
fn silent_clients_give_way() {
    let place = Place::answering();
    let silent: Vec<_> = (0..200).map(|_| place.raw()).collect();
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(place.client().ask::<String>(&exec("z")).unwrap().unwrap(), "z");
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let mut rest = Vec::new();
    { silent }.swap_remove(0).1.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
}

#[test]
fn watchers_get_events_and_slow_ones_lose_some() {
    let place = Place::answering();
    let mut quick = place.client();
    quick.ask::<Value>(&Request::Events).unwrap().unwrap();
    let (mut slow, mut slow_reader) = place.raw();
    writeln!(slow, "{}", json!({"version": 1, "request": "events"})).unwrap();
    assert_eq!(line(&mut slow_reader)["answer"], Value::Null);
    const COUNT: u64 = 30_000;
    let started = Instant::now();
    for number in 0..COUNT {
        place.publisher.publish(|| json!({"number": number, "filler": "x".repeat(200)}));
        if number % 2000 == 0 {
            while quick.event().unwrap().unwrap()["number"] != number {}
        }
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    // What the slow one gets and what it is told of make up the whole.
    let (mut seen, mut lost, mut last) = (0, 0, 0);
    place.publisher.publish(|| json!({"number": COUNT}));
    while last < COUNT {
        let event = line(&mut slow_reader);
        match event["count"].as_u64() {
            Some(count) => lost += count,
            None => {
                seen += 1;
                last = event["number"].as_u64().unwrap();
            }
        }
        if last < COUNT && seen + lost + 4096 > COUNT {
            place.publisher.publish(|| json!({"number": COUNT}));
        }
    }
    assert!(lost > 0 && seen >= 4096, "{seen} seen, {lost} lost");
}

#[test]
fn requests_that_nobody_answers_are_ended_by_the_end() {
    let (mut place, pending) = Place::silent();
    let mut client = place.client();
    let asking = std::thread::spawn(move || client.ask::<Value>(&exec("x")).unwrap());
    drop(pending.recv_timeout(Duration::from_secs(20)).unwrap());
    assert_eq!(asking.join().unwrap().unwrap_err().code, "MH0810");
    let mut watcher = place.client();
    watcher.ask::<Value>(&Request::Events).unwrap().unwrap();
    drop(place.server.take());
    assert!(watcher.event().unwrap().is_none());
    assert!(!place.socket().exists());
    let gone = Client::connect(&place.folder, &place.name).err().unwrap();
    assert_eq!(gone.code(), "MH0804");
}

/// Who waits for a script's end, as `moonhook stop` does, can start one of that name behind it.
#[test]
fn the_name_is_free_when_a_connection_ends() {
    for _ in 0..50 {
        let mut place = Place::answering();
        let mut watcher = place.client();
        watcher.ask::<Value>(&Request::Events).unwrap().unwrap();
        let server = place.server.take();
        let ending = std::thread::spawn(move || drop(server));
        assert!(watcher.event().unwrap().is_none());
        assert!(!place.folder.is_claimed(&place.name));
        ending.join().unwrap();
    }
}

/// Whoever owes an answer may be the one who ends the server, or unwind while it has the request.
#[test]
fn the_end_waits_for_no_answer_that_can_not_come() {
    let (mut place, pending) = Place::silent();
    let mut client = place.client();
    let asking = std::thread::spawn(move || client.ask::<Value>(&exec("x")).unwrap());
    let kept = pending.recv_timeout(Duration::from_secs(20)).unwrap();
    let (server, (ended, end)) = (place.server.take(), channel());
    std::thread::spawn(move || {
        drop(server);
        let _ = ended.send(());
    });
    end.recv_timeout(Duration::from_secs(20)).expect("the server ends");
    assert_eq!(asking.join().unwrap().unwrap_err().code, "MH0810");
    drop(kept);
}

/// A client that does not read its answer, which is larger than what a socket takes.
#[test]
fn the_end_does_not_wait_for_a_client_that_does_not_read() {
    let (mut place, pending) = Place::silent();
    let (mut stream, _reader) = place.raw();
    stream.write_all(b"{\"version\":1,\"request\":\"status\"}\n").unwrap();
    let Delivery::Request(pending) = pending.recv_timeout(Duration::from_secs(20)).unwrap() else {
        panic!("no request")
    };
    pending.reply.send(Ok("x".repeat(8 << 20).into()));
    let begun = Instant::now();
    drop(place.server.take());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!place.socket().exists());
}

#[test]
fn a_socket_that_a_dead_process_left_is_taken_over() {
    let files = tempfile::tempdir().unwrap();
    let folder = RuntimeFolder::new(files.path().join("run"));
    let name: Name = "test".parse().unwrap();
    folder.create().unwrap();
    drop(std::os::unix::net::UnixListener::bind(folder.socket(&name)).unwrap());
    assert_eq!(Client::connect(&folder, &name).err().unwrap().code(), "MH0804");
    let claim = folder.claim(&name).unwrap();
    let _server = Server::start(claim, Publisher::default(), echo).unwrap();
    let mode = std::fs::metadata(folder.socket(&name)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = Client::connect(&folder, &name).unwrap();
    assert_eq!(client.ask::<String>(&exec("z")).unwrap().unwrap(), "z");
    assert_eq!(folder.claim(&name).unwrap_err().code(), "MH0803");
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for() {
    let (place, _pending) = Place::silent();
    let mut client = place.client();
    client.set_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(client.ask::<Value>(&exec("x")).unwrap_err().code(), "MH0807");
}

#[test]
fn watchers_are_bounded_and_leave_room_for_others() {
    let place = Place::answering();
    let watch = |place: &Place| {
        let mut client = place.client();
        let answer = client.ask::<Value>(&Request::Events).unwrap();
        (client, answer)
    };
    let watchers: Vec<_> = (0..40).map(|_| watch(&place)).collect();
    let refused = watchers.iter().filter_map(|(_, answer)| answer.as_ref().err());
    assert_eq!(refused.map(|failure| failure.code.as_str()).collect::<Vec<_>>(), ["MH0809"; 8]);
    assert_eq!(place.client().ask::<String>(&exec("z")).unwrap().unwrap(), "z");
    drop(watchers);
    let deadline = Instant::now() + Duration::from_secs(10);
    while watch(&place).1.is_err() {
        assert!(Instant::now() < deadline, "watchers that went still count");
    }
}

#[test]
fn the_end_of_a_connection_is_told_behind_its_requests() {
    let (place, deliveries) = Place::silent();
    let (mut stream, _reader) = place.raw();
    writeln!(stream, "{}", json!({"version": 1, "request": "status"})).unwrap();
    drop((stream, _reader));
    let next = || deliveries.recv_timeout(Duration::from_secs(20)).unwrap();
    let Delivery::Request(pending) = next() else { panic!("no request") };
    let client = pending.client;
    drop(pending.reply);
    assert!(matches!(next(), Delivery::Gone(gone) if gone == client));
}
