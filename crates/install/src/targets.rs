//! What packets go by that are sent elsewhere: maps of interfaces and of CPUs.

use crate::map::access;
use crate::{InstallError, Program, netns};
use nix::errno::Errno;
use std::os::fd::AsRawFd;

const ONLINE: &str = "/sys/devices/system/cpu/online";

impl Program {
    /// Makes a map of interfaces (`BPF_MAP_TYPE_DEVMAP_HASH`) have these, by their numbers in the network namespace `netns` (`None`: the
    /// caller's), and no others. Those that are gone by then are left out.
    ///
    /// # Errors
    /// `NoSuchItem`, `MapAccess`; those of [`netns::within`].
    pub fn set_devices(&self, name: &str, devices: &[u32], netns: Option<&str>) -> Result<(), InstallError> {
        let keys = devices.iter().map(|device| device.to_ne_bytes());
        let wanted: Vec<[u8; 4]> = keys.collect();
        for key in self.map_keys(name)?.iter().filter(|key| !wanted.iter().any(|wanted| *wanted == key[..])) {
            self.map_delete(name, key)?;
        }
        let map = self.map_fd(name)?.as_raw_fd();
        // The kernel looks for the interfaces where the caller is (`dev_map_hash_update_elem`, kernel/bpf/devmap.c).
        let updated = netns::within(netns, || wanted.iter().try_for_each(|key| update(map, key)))?;
        updated.map_err(|errno| access(name, &libbpf_rs::Error::from_raw_os_error(errno as i32)))
    }
}

fn update(map: i32, key: &[u8; 4]) -> Result<(), Errno> {
    // SAFETY: key and value are as long as the map says.
    let result = unsafe { libbpf_sys::bpf_map_update_elem(map, key.as_ptr().cast(), key.as_ptr().cast(), 0) };
    match Errno::result(result) {
        // There is no such interface any more.
        Ok(_) | Err(Errno::EINVAL) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// The CPUs that are at work, by their numbers; the first one where the kernel does not say.
pub fn online_cpus() -> Vec<u32> {
    let listed = std::fs::read_to_string(ONLINE).unwrap_or_default();
    let cpus = listed_numbers(&listed);
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The numbers in a list such as `0-3,5` (cpu lists of sysfs).
fn listed_numbers(list: &str) -> Vec<u32> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(listed_numbers("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(listed_numbers("0\n"), [0]);
        assert!(listed_numbers("").is_empty() && !online_cpus().is_empty());
    }
}
