//! States as their clients have them, without a socket.

use super::*;

fn server(folder: &Path) -> Server {
    let options = Options {
        socket: folder.join("socket"),
        folder: folder.to_path_buf(),
        pins: folder.join("pins"),
        settings: Settings::default(),
        log: Log::Standard,
        ahead: 0,
    };
    let outside = Outside { ports: Arc::default(), sockets: Arc::new(RawSockets::open()), ahead: 0 };
    Server {
        log: Journal::begin(options.log).unwrap(),
        options,
        outside,
        states: Mutex::default(),
        connections: AtomicUsize::new(0),
        ends: AtomicBool::new(false),
        enders: Mutex::default(),
    }
}

fn execute(server: &Server, code: &str) -> Answer {
    let code = code.as_bytes().to_vec();
    server.answer(Request::Execute { name: "st".to_string(), title: String::new(), code })
}

/// Has the state at something, asked by another thread.
fn keep_busy(state: &Arc<State>) -> thread::JoinHandle<Result<(), NfluaError>> {
    let (state, code) = (Arc::clone(state), b"for i = 1, 100000000 do end done = true".to_vec());
    let work = move || state.ask(LONGEST, |reply| Order::Execute { title: String::new(), code, reply });
    let thread = thread::spawn(work);
    thread::sleep(NAP);
    thread
}

#[test]
fn what_nobody_waits_for_is_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    server.create("st".to_string(), 1 << 20).unwrap();
    let state = server.state("st", Errno::ENOENT).unwrap();
    let busy = keep_busy(&state);
    let released = state.ask(Duration::from_millis(1), |reply| Order::Release { ends: true, reply });
    assert_eq!(released.unwrap_err().to_string(), "state 'st' is busy");
    busy.join().unwrap().unwrap();
    execute(&server, "assert(done)").unwrap();
    server.destroy("st").unwrap();
}

#[test]
fn a_state_whose_thread_has_ended_is_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    server.create("st".to_string(), 1 << 20).unwrap();
    let state = server.state("st", Errno::ENOENT).unwrap();
    state.begin_end(false);
    state.join();
    assert!(server.list().unwrap().is_empty());
    server.create("st".to_string(), 1 << 20).unwrap();
    execute(&server, "x = 1").unwrap();
    // It ends while it is asked.
    let state = server.state("st", Errno::ENOENT).unwrap();
    let busy = keep_busy(&state);
    state.begin_end(false);
    server.destroy("st").unwrap();
    busy.join().unwrap().unwrap();
    server.create("st".to_string(), 1 << 20).unwrap();
    server.state("st", Errno::ENOENT).unwrap().begin_end(false);
    server.stop().unwrap();
    assert!(server.ends.load(Ordering::Relaxed));
}

#[test]
fn others_go_on_while_a_state_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let server = Arc::new(server(folder.path()));
    // Its notes come when somebody writes them.
    let note = notes(&server.options).join("slow");
    std::fs::create_dir(notes(&server.options)).unwrap();
    nix::unistd::mkfifo(&note, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let making = thread::spawn({
        let server = Arc::clone(&server);
        move || server.create("slow".to_string(), 1 << 20)
    });
    thread::sleep(NAP);
    let others = thread::spawn({
        let server = Arc::clone(&server);
        move || {
            server.create("st".to_string(), 1 << 20).unwrap();
            execute(&server, "x = 1").unwrap();
            server.create("slow".to_string(), 1 << 20).unwrap_err().to_string()
        }
    });
    let deadline = Instant::now() + LAST;
    while Instant::now() < deadline && !others.is_finished() {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(others.is_finished(), "they wait");
    assert_eq!(others.join().unwrap(), "state already exists: slow");
    std::fs::write(&note, "").unwrap();
    making.join().unwrap().unwrap();
    assert_eq!(server.list().unwrap().len(), 6);
}
