//! The other ends of veth interfaces, without a program at which nothing arrives of what a script sends back or redirects there.

use crate::installed::Installed;
use crate::{Options, SessionError};
use moonhook_engine::Kernel;
use moonhook_hook::XDP;
use moonhook_install::{InstallError, Link, Mode, Peer, Sent, is_lost, netns, sends_partial_checksums};
use moonhook_records::Counters;

/// What sends packets somewhere, by the names of its verdicts.
const BACK: &str = "TX";
const ELSEWHERE: &str = "REDIRECT";

/// Programs at other ends, which go with the session.
pub struct Peers {
    /// One for each veth interface that packets can be sent out of, if they were asked for.
    programs: Vec<Peer>,
    /// Nothing has been sent yet that could be lost.
    waits: bool,
    /// Somebody was told that something is lost.
    noted: bool,
    /// The same of what has a part of its checksum.
    noted_partial: bool,
    /// All interfaces have been looked at, of which there may be many.
    looked: bool,
}

impl Peers {
    /// Puts a program to the other end of each interface, if that was asked for: of those that the script is run on, and of those that its
    /// code redirects to by name. The script's own are in their hooks by then: where one is at the other end, nothing else is needed there,
    /// and what generic mode sends arrives without.
    ///
    /// # Errors
    /// As of [`Peer::attach`]; the programs that were attached before go.
    pub fn attach(options: &Options, links: &[Link], kernel: &Kernel) -> Result<Peers, SessionError> {
        let waits = native(links).next().is_some();
        let mut peers =
            Peers { programs: Vec::new(), waits, noted: false, noted_partial: false, looked: false };
        if !options.peer {
            return Ok(peers);
        }
        let netns = options.netns.as_deref();
        for name in &options.interfaces {
            match runs_generic(name, links) {
                true => Peer::check(name, netns)?,
                false => peers.programs.push(Peer::attach(name, netns)?),
            }
        }
        peers.attach_targets(options, links, kernel)?;
        Ok(peers)
    }

    /// Puts programs, if that was asked for, to the other ends of interfaces that have come since, or have been made anew.
    ///
    /// # Errors
    /// What the kernel refuses of a program that is attached.
    pub fn follow(&mut self, options: &Options, links: &[Link], kernel: &Kernel) -> Result<(), SessionError> {
        if !options.peer {
            return Ok(());
        }
        let netns = options.netns.as_deref();
        self.programs.retain(|peer| peer.is_there(netns));
        for name in native(links) {
            self.attach_if_veth(name, netns)?;
        }
        self.attach_targets(options, links, kernel)
    }

    /// The same where the code redirects to: what generic mode redirects arrives without.
    fn attach_targets(
        &mut self,
        options: &Options,
        links: &[Link],
        kernel: &Kernel,
    ) -> Result<(), SessionError> {
        if native(links).next().is_none() {
            return Ok(());
        }
        let netns = options.netns.as_deref();
        let all = netns::interfaces(netns)?;
        kernel.redirects_to(&all).named.iter().try_for_each(|name| self.attach_if_veth(name, netns))
    }

    /// Nothing is done of an interface that has an other end with a program already, or none that can be found.
    fn attach_if_veth(&mut self, name: &str, netns: Option<&str>) -> Result<(), SessionError> {
        if self.programs.iter().any(|peer| peer.of == name) {
            return Ok(());
        }
        match Peer::attach(name, netns) {
            Ok(peer) => self.programs.push(peer),
            Err(InstallError::NoPeer { .. } | InstallError::UnknownInterface { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    pub fn programs(&self) -> &[Peer] {
        &self.programs
    }

    /// Whether nothing has been sent anywhere yet, as far as was seen: who sends the first packet is to hear at once that it is lost.
    pub fn wait(&self) -> bool {
        self.waits
    }

    /// What is to be said, each once, of interfaces out of which packets have been sent that do not arrive at the other end.
    pub fn complaints(
        &mut self,
        counters: &Counters,
        links: &[Link],
        installed: &Installed,
        options: &Options,
    ) -> Vec<String> {
        let (back, elsewhere) = (sent(counters, BACK), sent(counters, ELSEWHERE));
        self.waits &= !back && !elsewhere;
        let own: Vec<String> = native(links).filter(|_| back).map(str::to_string).collect();
        // What generic mode redirects arrives.
        let redirects = elsewhere && native(links).next().is_some();
        let kernel = Some(&installed.kernel).filter(|_| redirects);
        let lost = self.lost(&own, kernel, options);
        let partial = if installed.sums_all { None } else { self.partial(own, options) };
        lost.into_iter().chain(partial).collect()
    }

    /// Of interfaces that packets are sent back out of, and of those that the code of `kernel` redirects to.
    fn lost(&mut self, own: &[String], kernel: Option<&Kernel>, options: &Options) -> Option<String> {
        if self.noted {
            return None;
        }
        let netns = options.netns.as_deref();
        let mut lacking = own.to_vec();
        lacking.retain(|name| is_lost(name, netns, Sent::Back));
        let (named, others) = kernel.map_or_else(Default::default, |kernel| self.redirected(kernel, netns));
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

    /// Of interfaces that packets are sent back out of to a host that does not compute whole checksums. Which packets it has made itself, nothing
    /// tells.
    fn partial(&mut self, mut own: Vec<String>, options: &Options) -> Option<String> {
        if self.noted_partial {
            return None;
        }
        own.retain(|name| sends_partial_checksums(name, options.netns.as_deref()));
        self.noted_partial = !own.is_empty();
        self.noted_partial.then(|| format!("at the other end of {}, {PARTIAL}: {CHECKSUMS}", listed(&own)))
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

/// Whether XDP programs have given that verdict.
fn sent(counters: &Counters, verdict: &str) -> bool {
    let mut verdicts = counters.verdicts.iter();
    verdicts.any(|count| count.hook == XDP.name && count.verdict == verdict && count.count > 0)
}

/// The interfaces where programs run in native mode.
fn native(links: &[Link]) -> impl Iterator<Item = &str> {
    let native = links.iter().filter(|link| link.mode() == Some(Mode::Native));
    native.filter_map(|link| link.site().interface()).map(|interface| interface.name.as_str())
}

fn runs_generic(name: &str, links: &[Link]) -> bool {
    let generic = links.iter().filter(|link| link.mode() == Some(Mode::Generic));
    generic.filter_map(|link| link.site().interface()).any(|interface| interface.name == name)
}

/// What is lost: packets of an interface that surely are sent there, and those that would be.
const SENT: &str = "what is sent out of";
const REDIRECTED: &str = "what is redirected to";
/// What may be lost: what that host has not made itself, it takes.
const PARTIAL: &str =
    "TCP and UDP are sent with a part of their checksums, and dropped where they come back so";

/// What helps where the script is run on the interface.
const OWN: &str = "a veth needs an XDP program at its other end, where `--peer` puts an empty one";
/// What helps where checksums have been left to a network card that there is none of.
const CHECKSUMS: &str =
    "call `pkt:fix_checksums()` before such packets go back, or set `ethtool -K … tx off` there";
/// What helps elsewhere, where only redirects go.
const OTHERS: &str = "a veth needs an XDP program at its other end, or `ethtool -K … gro on` there";

/// Names that are listed.
const LISTED: usize = 5;

fn lost(what: &str, names: &[String], help: &str) -> Option<String> {
    (!names.is_empty()).then(|| format!("{what} {} does not arrive: {help}", listed(names)))
}

fn listed(names: &[String]) -> String {
    let listed = names.iter().take(LISTED).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    format!("{listed}{more}")
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
