//! The other ends of veth interfaces, without a program at which nothing arrives of what a script sends back or redirects there.

use crate::{Options, SessionError};
use moonhook_engine::Kernel;
use moonhook_hook::XDP;
use moonhook_install::{Link, Mode, Peer, Sent, is_lost};
use moonhook_records::Counters;

/// What sends packets somewhere, by the names of its verdicts.
const BACK: &str = "TX";
const ELSEWHERE: &str = "REDIRECT";

/// Programs at other ends, which go with the session.
#[derive(Default)]
pub struct Peers {
    /// One for each interface of the script, if they were asked for.
    programs: Vec<Peer>,
    /// Somebody was told that there is none.
    noted: bool,
}

impl Peers {
    /// Puts a program to the other end of each interface, if that was asked for. The script's own are in their hooks by then: where one is
    /// at the other end, nothing else is needed there, and what generic mode sends arrives without.
    ///
    /// # Errors
    /// As of [`Peer::attach`]; the programs that were attached before go.
    pub fn attach(options: &Options, links: &[Link]) -> Result<Peers, SessionError> {
        let is_generic = |name: &str| {
            let generic = links.iter().filter(|link| link.mode() == Some(Mode::Generic));
            generic.filter_map(|link| link.site().interface()).any(|interface| interface.name == name)
        };
        let netns = options.netns.as_deref();
        let mut programs = Vec::new();
        for name in options.interfaces.iter().filter(|_| options.peer) {
            match is_generic(name) {
                true => Peer::check(name, netns)?,
                false => programs.push(Peer::attach(name, netns)?),
            }
        }
        Ok(Peers { programs, noted: false })
    }

    pub fn programs(&self) -> &[Peer] {
        &self.programs
    }

    /// What is to be said, once, of interfaces out of which packets have been sent though nothing arrives at the other end.
    pub fn complaint(
        &mut self,
        counters: &Counters,
        links: &[Link],
        kernel: &Kernel,
        options: &Options,
    ) -> Option<String> {
        if self.noted {
            return None;
        }
        let netns = options.netns.as_deref();
        let sent = |verdict: &str| {
            let verdicts = counters.verdicts.iter();
            verdicts
                .filter(|count| count.hook == XDP.name && count.verdict == verdict)
                .any(|count| count.count > 0)
        };
        let own = links.iter().filter(|link| sent(BACK) && link.mode() == Some(Mode::Native));
        let own = own.filter_map(|link| link.site().interface()).map(|interface| interface.name.clone());
        let others = if sent(ELSEWHERE) { kernel.named_interfaces() } else { Vec::new() };
        let back = own.filter(|name| is_lost(name, netns, Sent::Back));
        let elsewhere = others.into_iter().filter(|name| is_lost(name, netns, Sent::Elsewhere));
        let mut lacking: Vec<String> = back.chain(elsewhere).collect();
        lacking.sort();
        lacking.dedup();
        self.noted = !lacking.is_empty();
        let (own, others): (Vec<_>, Vec<_>) =
            lacking.into_iter().partition(|name| options.interfaces.contains(name));
        let complaints = [lost(&own, OWN), lost(&others, OTHERS)];
        self.noted.then(|| complaints.into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

/// What helps where the script is run on the interface.
const OWN: &str = "a veth needs an XDP program at its other end, where `--peer` puts an empty one";
/// What helps elsewhere, where only redirects go.
const OTHERS: &str = "a veth needs an XDP program at its other end, or `ethtool -K … gro on` there";

fn lost(names: &[String], help: &str) -> Option<String> {
    let names = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| format!("what is sent out of {names} does not arrive: {help}"))
}
