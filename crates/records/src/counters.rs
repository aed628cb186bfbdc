//! What a running program has counted.

use crate::Decoder;
use moonhook_hook::{Hook, VERDICTS};
use moonhook_ir::EventKind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Counts since the program was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Those that have a name and those that occurred. As text and in JSON they have the hook before the verdict if there are several.
    #[serde(serialize_with = "by_name")]
    pub verdicts: Vec<VerdictCount>,
    /// Frames that ended with a run-time error.
    pub errors: u64,
    /// Events that nobody will see because the ring was full.
    pub lost_events: u64,
    /// How often each error occurred, without those that never did. Programs of general code count them together ([`crate::Raised`]).
    pub sites: Vec<Site>,
}

/// How often a hook's programs gave a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictCount {
    pub hook: &'static str,
    /// Its name, or the number of one without.
    pub verdict: String,
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    pub error: String,
    pub count: u64,
}

impl Counters {
    /// Reads the words of the data sections `verdicts` and `counters` (lost events, then one word for each event).
    pub fn new(verdicts: &[u64], counters: &[u64], decoder: &Decoder) -> Counters {
        let (lost_events, counts) =
            counters.split_first().map_or((0, [].as_slice()), |(lost, rest)| (*lost, rest));
        let errors = decoder
            .events()
            .iter()
            .zip(counts)
            .filter(|(event, _)| matches!(event.kind, EventKind::Error | EventKind::Raised));
        let site = |(event, count): (_, &u64)| Site { error: decoder.site(event), count: *count };
        let sites: Vec<Site> = errors.map(site).filter(|site| site.count > 0).collect();
        let verdicts = named(verdicts, decoder.hooks());
        Counters { verdicts, errors: sites.iter().map(|site| site.count).sum(), lost_events, sites }
    }

    /// Adds the errors and losses of another generation of the script, which counts verdicts in the same place.
    pub fn add(&mut self, other: &Counters) {
        self.errors += other.errors;
        self.lost_events += other.lost_events;
        for site in &other.sites {
            match self.sites.iter_mut().find(|own| own.error == site.error) {
                Some(own) => own.count += site.count,
                None => self.sites.push(site.clone()),
            }
        }
    }

    /// Adds all of another generation, which counts verdicts on its own.
    pub fn add_whole(&mut self, other: &Counters) {
        self.add(other);
        for other in &other.verdicts {
            let is_same = |own: &&mut VerdictCount| (own.hook, &own.verdict) == (other.hook, &other.verdict);
            match self.verdicts.iter_mut().find(is_same) {
                Some(own) => own.count += other.count,
                None => self.verdicts.push(other.clone()),
            }
        }
    }
}

/// Words of counts of each CPU: as many for each program as its hook can have verdicts, from the least one on. Programs of the same hook are
/// counted together.
fn named(counts: &[u64], hooks: &[&'static Hook]) -> Vec<VerdictCount> {
    let mut of_all = vec![0u64; hooks.len() * VERDICTS as usize];
    for of_cpu in counts.chunks(of_all.len().max(1)) {
        of_all.iter_mut().zip(of_cpu).for_each(|(all, count)| *all = all.wrapping_add(*count));
    }
    let of_hook = |(hook, counts): (&&'static Hook, &[u64])| -> Vec<VerdictCount> {
        let counted = (hook.least()..).zip(counts).filter_map(|(number, count)| {
            let name = hook.verdict(number).map(str::to_string);
            let verdict = name.or_else(|| (*count > 0).then(|| number.to_string()))?;
            Some(VerdictCount { hook: hook.name, verdict, count: *count })
        });
        counted.collect()
    };
    let mut all: Vec<VerdictCount> = Vec::new();
    for count in hooks.iter().zip(of_all.chunks(VERDICTS as usize)).flat_map(of_hook) {
        match all.iter_mut().find(|known| (known.hook, &known.verdict) == (count.hook, &count.verdict)) {
            Some(known) => known.count += count.count,
            None => all.push(count),
        }
    }
    all
}

/// The counts with what they are called: the hook's name comes first if there are several.
fn titled(verdicts: &[VerdictCount]) -> Vec<(String, u64)> {
    let is_one = verdicts.windows(2).all(|pair| pair[0].hook == pair[1].hook);
    let title = |count: &VerdictCount| match is_one {
        true => (count.verdict.clone(), count.count),
        false => (format!("{} {}", count.hook, count.verdict), count.count),
    };
    verdicts.iter().map(title).collect()
}

fn by_name<S: serde::Serializer>(verdicts: &[VerdictCount], serializer: S) -> Result<S::Ok, S::Error> {
    titled(verdicts).into_iter().collect::<BTreeMap<_, _>>().serialize(serializer)
}

impl Display for Counters {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (name, count) in titled(&self.verdicts) {
            write!(f, "{name} {count}, ")?;
        }
        write!(f, "errors {}, lost events {}", self.errors, self.lost_events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_hook::XDP;
    use moonhook_ir::{Event, Function, FunctionKind, Module, Piece, SourceFile};

    #[test]
    fn words_become_counts() {
        let event = |kind, line| {
            let format = vec![Piece::Text(b"bad ".to_vec()), Piece::Argument("%s".into())];
            Event { kind, source: 0, line, format, traceback: vec![] }
        };
        let events = vec![event(EventKind::Error, 4), event(EventKind::Print, 5), event(EventKind::Error, 6)];
        let sources = vec![SourceFile { name: "x.lua".into(), text: String::new() }];
        let kind = FunctionKind::Program { section: XDP.section.to_string() };
        let functions = vec![Function::new("x", kind, 1)];
        let decoder = Decoder::new(&Module { functions, sources, events, ..Module::default() });
        let counters = Counters::new(&[0, 3, 40, 0, 0, 0, 1, 0], &[2, 5, 100, 0], &decoder);
        assert_eq!(
            counters.to_string(),
            "ABORTED 0, DROP 3, PASS 40, TX 0, REDIRECT 0, 6 1, errors 5, lost events 2"
        );
        assert_eq!(counters.sites, [Site { error: "x.lua:4: bad …".into(), count: 5 }]);
        let mut both = counters.clone();
        let other = VerdictCount { hook: "tc.ingress", verdict: "DROP".into(), count: 9 };
        both.add_whole(&Counters { verdicts: vec![other], ..counters.clone() });
        let of_both = serde_json::to_value(&both).unwrap()["verdicts"].clone();
        assert_eq!((&of_both["xdp DROP"], &of_both["tc.ingress DROP"]), (&3.into(), &9.into()));
        let json = serde_json::to_value(&counters).unwrap();
        assert_eq!((&json["verdicts"]["DROP"], &json["lost_events"]), (&3.into(), &2.into()));
    }
}
