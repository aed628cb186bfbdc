//! That contestants do what they are there for, before they are measured.

use libbpf_rs::{MapCore, MapFlags};

use super::contestants::{Contestant, Instance};
use super::network::{self, WAYS};
use super::object::Loaded;
use super::sender::{FRAMES, Sender};
use super::uses::{Case, Ends, Use};
use crate::error::Error;
use crate::works::Role;

/// The other ends of the ways out, where frames are looked at and dropped.
pub struct Sink {
    object: Loaded,
    // Detached when dropped.
    _links: Vec<libbpf_rs::Link>,
}

/// What has gone somewhere.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Seen {
    frames: u64,
    bad_checksums: u64,
    digest: u64,
}

impl Sink {
    pub fn new(object: &std::path::Path) -> Result<Self, Error> {
        let mut object = Loaded::load(object)?;
        let links = WAYS.iter().map(|(_, far)| object.attach("sink", network::index(far)?));
        let links = links.collect::<Result<Vec<_>, Error>>()?;
        Ok(Sink { object, _links: links })
    }

    /// What `send` makes arrive, by MAC address and interface (the key of bench/c/sink.c), in order of keys.
    fn look(&self, send: impl FnOnce() -> Result<(), Error>) -> Result<Vec<(Vec<u8>, Seen)>, Error> {
        let map = self.object.map("seen")?;
        for key in map.keys() {
            map.delete(&key).map_err(|error| self.object.failed(error.to_string()))?;
        }
        self.object.set("looks", 1)?;
        send()?;
        self.object.set("looks", 0)?;
        let mut found = Vec::new();
        for key in map.keys() {
            let value =
                map.lookup(&key, MapFlags::ANY).map_err(|error| self.object.failed(error.to_string()))?;
            let words: Vec<u64> = value
                .unwrap_or_default()
                .chunks_exact(8)
                .filter_map(|word| word.try_into().ok().map(u64::from_ne_bytes))
                .collect();
            if let [frames, bad_checksums, digest] = words[..] {
                found.push((key, Seen { frames, bad_checksums, digest }));
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(found)
    }
}

/// An error if a contestant does not do to each frame what it should.
pub fn all(sender: &Sender, sink: &Sink, job: &Use, contestants: &[Contestant]) -> Result<(), Error> {
    // The least program decides nothing.
    for contestant in contestants.iter().filter(|contestant| contestant.role != Role::Floor) {
        for instance in &contestant.instances {
            let check = Check { sender, sink, job, title: contestant.title, instance };
            check.passing()?;
            job.cases.iter().try_for_each(|case| match job.ends {
                Ends::Dropped => check.dropped(case),
                Ends::Sent => check.sent(case),
            })?;
        }
    }
    Ok(())
}

struct Check<'a> {
    sender: &'a Sender,
    sink: &'a Sink,
    job: &'a Use,
    title: &'a str,
    instance: &'a Instance,
}

impl Check<'_> {
    /// Frames that are no business of the contestant's come to the IP layer.
    fn passing(&self) -> Result<(), Error> {
        self.sender.set_frames(&self.job.passing)?;
        let before = network::delivered()?;
        self.sender.send(self.instance.port.outside, 1, 1)?;
        self.expect("pass", network::delivered()? - before, FRAMES as u64, 0)
    }

    fn dropped(&self, case: &Case) -> Result<(), Error> {
        self.sender.set_frames(&case.frames)?;
        let before = network::delivered()?;
        let time = self.sender.send(self.instance.port.outside, 4, 1)?;
        let (rate, first) = case.allowed.unwrap_or((0.0, 0.0));
        let most = first + rate * time.as_secs_f64();
        // Of an allowance a tenth may be missing or too much: nft and the scripts count time in different steps.
        self.expect(case.title, network::delivered()? - before, most as u64, (most / 10.0) as u64)
    }

    /// All go out, with right checksums; as many to each server, and the same, each time.
    fn sent(&self, case: &Case) -> Result<(), Error> {
        self.sender.set_frames(&case.frames)?;
        let look = || self.sink.look(|| self.sender.send(self.instance.port.outside, 1, 1).map(|_| ()));
        let seen = look()?;
        let sum = |field: fn(&Seen) -> u64| seen.iter().map(|(_, seen)| field(seen)).sum();
        self.expect(case.title, sum(|seen| seen.frames), FRAMES as u64, 0)?;
        self.expect("bad checksums", sum(|seen| seen.bad_checksums), 0, 0)?;
        if look()? != seen {
            return Err(self.wrong(format!("{}: other frames go out the second time", case.title)));
        }
        if self.job.script == "load_balancer" {
            // Shares of 1, 1 and 2 quarters.
            let mut counts: Vec<_> = seen.iter().map(|(_, seen)| seen.frames).collect();
            counts.sort_unstable();
            counts.resize(3, 0);
            for (count, quarters) in counts.into_iter().zip([1, 1, 2]) {
                let share = (FRAMES / 4 * quarters) as u64;
                self.expect("a server's share", count, share, share / 5)?;
            }
        }
        Ok(())
    }

    fn expect(&self, what: &str, found: u64, wanted: u64, tolerance: u64) -> Result<(), Error> {
        match found.abs_diff(wanted) <= tolerance {
            true => Ok(()),
            false => Err(self.wrong(format!("{what}: {found} frames, not {wanted}"))),
        }
    }

    fn wrong(&self, message: String) -> Error {
        Error::Peer { contestant: format!("{} ({})", self.title, self.job.title), message }
    }
}
