//! The other ends of veth interfaces, without a program at which nothing arrives of what a script sends back or redirects there.

use crate::{Options, SessionError};
use moonhook_engine::Kernel;
use moonhook_hook::XDP;
use moonhook_install::{Link, Mode, Peer, Sent, is_lost, netns};
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
    /// All interfaces have been looked at, of which there may be many.
    looked: bool,
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
        Ok(Peers { programs, ..Peers::default() })
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
        let native = || links.iter().filter(|link| link.mode() == Some(Mode::Native));
        let own = native().filter(|_| sent(BACK)).filter_map(|link| link.site().interface());
        let mut lacking: Vec<String> = own.map(|interface| interface.name.clone()).collect();
        lacking.retain(|name| is_lost(name, netns, Sent::Back));
        // What generic mode redirects arrives.
        let redirects = sent(ELSEWHERE) && native().next().is_some();
        let (named, others) = if redirects { self.redirected(kernel, netns) } else { Default::default() };
        lacking.extend(named);
        lacking.sort();
        lacking.dedup();
        let (own, named): (Vec<_>, Vec<_>) =
            lacking.into_iter().partition(|name| options.interfaces.contains(name));
        let complaints =
            [lost(SENT, &own, OWN), lost(SENT, &named, OTHERS), lost(REDIRECTED, &others, OTHERS)];
        let complaints: Vec<String> = complaints.into_iter().flatten().collect();
        self.noted = !complaints.is_empty();
        self.noted.then(|| complaints.join("; "))
    }

    /// The interfaces that packets are redirected to and whose other ends do not take them; and those of which nothing but packets says
    /// whether they are.
    fn redirected(&mut self, kernel: &Kernel, netns: Option<&str>) -> (Vec<String>, Vec<String>) {
        let all = netns::interfaces(netns).unwrap_or_default();
        let lost = |names: Vec<String>| -> Vec<String> {
            names.into_iter().filter(|name| is_lost(name, netns, Sent::Elsewhere)).collect()
        };
        let redirects = kernel.redirects_to(&all);
        let named = lost(redirects.named);
        if !named.is_empty() || !redirects.any || self.looked {
            return (named, Vec::new());
        }
        self.looked = true;
        let mut others = lost(all.into_iter().map(|interface| interface.name).collect());
        others.sort();
        (named, others)
    }
}

/// What is lost: packets of an interface that surely are sent there, and those that would be.
const SENT: &str = "what is sent out of";
const REDIRECTED: &str = "what is redirected to";

/// What helps where the script is run on the interface.
const OWN: &str = "a veth needs an XDP program at its other end, where `--peer` puts an empty one";
/// What helps elsewhere, where only redirects go.
const OTHERS: &str = "a veth needs an XDP program at its other end, or `ethtool -K … gro on` there";

/// Names that are listed.
const LISTED: usize = 5;

fn lost(what: &str, names: &[String], help: &str) -> Option<String> {
    let listed = names.iter().take(LISTED).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    (!names.is_empty()).then(|| format!("{what} {listed}{more} does not arrive: {help}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_interfaces_are_listed() {
        let names: Vec<String> = (0..7).map(|number| format!("veth{number}")).collect();
        assert_eq!(lost(SENT, &[], OWN), None);
        let one = lost(SENT, &names[..1], "x").unwrap();
        assert_eq!(one, "what is sent out of 'veth0' does not arrive: x");
        let many = lost(REDIRECTED, &names, "x").unwrap();
        let listed = "what is redirected to 'veth0', 'veth1', 'veth2', 'veth3', 'veth4' and 2 others does not arrive: x";
        assert_eq!(many, listed);
    }
}
