//! What programs know of network interfaces: the numbers of those that the script names.

use crate::{EngineError, Kernel};
use moonhook_install::Interface;
use moonhook_ir::maps::{INTERFACES, Port, sections};
use moonhook_ir::targets::{self, Member};
use moonhook_schema::{Datum, encode_key};
use std::collections::{BTreeMap, HashSet};

/// Where packets may be redirected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirects {
    /// These interfaces, which stand in the code.
    pub named: Vec<String>,
    /// Any interface: numbers and names may come with packets, or out of tables.
    pub any: bool,
}

fn is_meant(port: &Port, interface: &Interface) -> bool {
    match port.given_number() {
        Some(number) => interface.index == number,
        None => interface.name == port.name,
    }
}

impl Kernel {
    /// Whether the programs look interfaces up by their names.
    pub fn names_interfaces(&self) -> bool {
        self.has_map(sections::PORTS) || self.has_map(INTERFACES)
    }

    /// To which of all interfaces the programs may redirect packets, as far as their code says so.
    pub fn redirects_to(&self, all: &[Interface]) -> Redirects {
        let ports = self.ports();
        let is_elsewhere = |map: &str| targets::queue_of(map).is_some() || map == targets::SOCKETS;
        let goes_elsewhere = self.program.map_names().any(|map| is_elsewhere(&map));
        let any = self.has_map(INTERFACES) || ports.is_empty() && !goes_elsewhere;
        let is_named = |interface: &&Interface| ports.iter().any(|port| is_meant(port, interface));
        let named = all.iter().filter(is_named).map(|interface| interface.name.clone()).collect();
        Redirects { named, any }
    }

    /// The interfaces that stand in the code.
    fn ports(&self) -> Vec<Port> {
        if !self.has_map(sections::PORTS) {
            return Vec::new();
        }
        let section = self.program.data_section(sections::PORTS);
        section.map(|section| Port::all(&section.bytes()).collect()).unwrap_or_default()
    }

    /// Tells the programs which interfaces there are in a network namespace (`None`: the caller's).
    ///
    /// # Errors
    /// What the kernel refuses; `NoInterface` for one whose name stands in the code, after all others were told.
    pub fn tell_interfaces(&self, all: &[Interface], netns: Option<&str>) -> Result<(), EngineError> {
        if self.has_map(INTERFACES) {
            self.list_interfaces(all)?;
        }
        if !self.has_map(sections::PORTS) {
            return Ok(());
        }
        let section = self.program.data_section(sections::PORTS)?;
        let mut missing = None;
        for (index, port) in Port::all(&section.bytes()).enumerate() {
            let number = all.iter().find(|interface| is_meant(&port, interface)).map(|found| found.index);
            section.store(index * Port::SIZE + Port::NUMBER, port.word(number.unwrap_or(0)));
            if number.is_none() {
                missing.get_or_insert(port);
            }
        }
        self.fill_groups(netns)?;
        match missing {
            None => Ok(()),
            Some(port) => Err(EngineError::NoInterface {
                place: self.decoder.place(port.source.into(), port.line),
                name: port.name.trim_start_matches(':').to_string(),
                existing: all.iter().map(|interface| interface.name.clone()).collect(),
            }),
        }
    }

    /// Gives each group the interfaces that there are of it.
    fn fill_groups(&self, netns: Option<&str>) -> Result<(), EngineError> {
        if !self.has_map(sections::GROUPS) {
            return Ok(());
        }
        let ports = self.program.data_section(sections::PORTS)?;
        let number = |port: u32| ports.load(port as usize * Port::SIZE + Port::NUMBER).unwrap_or(0) as u32;
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for Member { group, port } in Member::all(&self.program.data_section(sections::GROUPS)?.bytes()) {
            groups.entry(group).or_default().extend(Some(number(port)).filter(|number| *number != 0));
        }
        for (group, interfaces) in groups {
            self.program.set_devices(&targets::group(group as usize), &interfaces, netns)?;
        }
        Ok(())
    }

    fn list_interfaces(&self, all: &[Interface]) -> Result<(), EngineError> {
        let schema = moonhook_specialise::interfaces();
        let mut gone: HashSet<Vec<u8>> = self.program.map_keys(INTERFACES)?.into_iter().collect();
        for interface in all {
            let name = Datum::Text(interface.name.clone().into_bytes());
            // Names of interfaces are short enough.
            let Ok(key) = encode_key(&schema, &name) else { continue };
            let number = u64::from(interface.index).to_ne_bytes();
            self.program.map_update(INTERFACES, &key, &number)?;
            gone.remove(&key);
        }
        for key in gone {
            self.program.map_delete(INTERFACES, &key)?;
        }
        Ok(())
    }
}
