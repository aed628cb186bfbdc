//! What programs know of network interfaces: the numbers of those that the script names.

use crate::{EngineError, Kernel};
use moonhook_install::Interface;
use moonhook_ir::maps::{INTERFACES, Port, sections};
use moonhook_ir::targets::{self, Member};
use moonhook_schema::{Datum, encode_key};
use std::collections::{BTreeMap, HashSet};

impl Kernel {
    /// Whether the programs look interfaces up by their names.
    pub fn names_interfaces(&self) -> bool {
        self.has_map(sections::PORTS) || self.has_map(INTERFACES)
    }

    /// The names of interfaces that stand in the code.
    pub fn named_interfaces(&self) -> Vec<String> {
        if !self.has_map(sections::PORTS) {
            return Vec::new();
        }
        let section = self.program.data_section(sections::PORTS);
        section
            .map(|section| {
                Port::all(&section.bytes())
                    .filter(|port| port.given_number().is_none())
                    .map(|port| port.name)
                    .collect()
            })
            .unwrap_or_default()
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
            let is_meant = |interface: &&Interface| match port.given_number() {
                Some(number) => interface.index == number,
                None => interface.name == port.name,
            };
            let number = all.iter().find(is_meant).map(|found| found.index);
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
