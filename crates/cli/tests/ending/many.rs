//! Requests of all kinds at once, from many clients.

use crate::common::Place;
use crate::end::End;
use crate::flood::{Network, Running};
use crate::{LOOP, PATTERN, SCRIPT, exec};
use moonhook_daemon::{Client, DaemonError, Name, Request, RuntimeFolder, TableOperation};
use moonhook_proof::host::{kernel_available, setting};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Numbers from a seed (Sebastiano Vigna's splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn request(&mut self, place: &Path) -> Request {
        let table = |operation| Request::Table { table: "hits".to_string(), operation };
        let reload = |script: Option<&str>| Request::Reload {
            scripts: script.map(|script| vec![place.join(script)]),
            allow_read: Vec::new(),
        };
        let key = json!(self.below(100));
        match self.below(20) {
            0 => exec(LOOP),
            1 => exec(PATTERN),
            2 => exec("error('as if')"),
            3 => exec("event('seen', 1)"),
            4 => exec("count, #tostring(hits)"),
            5 => exec("= ="),
            6 => reload(None),
            7 => reload(Some("loop.lua")),
            8 => reload(Some("absent.lua")),
            9 => Request::Events,
            10 => Request::Status,
            11 => Request::Tables,
            12 => table(TableOperation::Get { key }),
            13 => table(TableOperation::Set { key, value: json!(7) }),
            14 => table(TableOperation::Delete { key: json!("no key") }),
            15 => table(TableOperation::Dump { dump: None }),
            16 => table(TableOperation::Count),
            17 => table(TableOperation::Clear),
            18 => table(TableOperation::Begin),
            _ => table(TableOperation::Commit),
        }
    }
}

/// One client after another, until there is no script any more. Some go without waiting for their answer.
fn pester(folder: &RuntimeFolder, name: &Name, place: &Path, mut random: Random) {
    while let Ok(mut client) = Client::connect(folder, name) {
        client.set_timeout(Some(Duration::from_secs(40))).unwrap();
        for _ in 0..random.below(4) {
            let request = random.request(place);
            if random.below(8) == 0 {
                let patience = Duration::from_millis(1 + random.below(50));
                client.set_timeout(Some(patience)).unwrap();
                let _ = client.ask::<Value>(&request);
                break;
            }
            match client.ask::<Value>(&request) {
                Ok(_) if request == Request::Events => break,
                Ok(_) => {}
                // The end came first.
                Err(DaemonError::NoAnswer { problem, .. }) => {
                    assert!(!problem.contains("takes too long"), "no answer to {request:?}");
                    break;
                }
                Err(error) => panic!("{request:?}: {error}"),
            }
        }
    }
}

/// Requests of all kinds at once, and then the end in one of the ways. `MOONHOOK_SEED` and `MOONHOOK_ROUNDS` choose others.
#[test]
fn while_many_ask_for_anything() {
    if !kernel_available("while_many_ask_for_anything") {
        return;
    }
    const CLIENTS: u64 = 8;
    let (seed, rounds) = (setting("MOONHOOK_SEED", 1), setting("MOONHOOK_ROUNDS", 6));
    let place = Place::with(&[("a.lua", SCRIPT), ("loop.lua", LOOP)]);
    let network = Network::new();
    for round in seed..seed + rounds {
        let mut random = Random(round << 32);
        let running = Running::start(&network, &place, "a.lua");
        let root: PathBuf = place.path("");
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (folder, name, root) = (running.folder.clone(), running.name.clone(), root.clone());
                scope.spawn(move || pester(&folder, &name, &root, Random((round << 32) + client + 1)));
            }
            std::thread::sleep(Duration::from_millis(random.below(800)));
            // A signal, as `stop` may find all connections taken by those who wait for an answer.
            let end = if random.below(2) == 0 { End::Interrupt } else { End::Terminate };
            end.put_to(running, &place, &format!("seed {round}"));
        });
    }
}
