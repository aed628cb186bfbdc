//! Maps that a program takes over from an earlier one, and pins.

use crate::support::{Namespace, compile, kernel, load_c};
use moonhook_hook::{Point, XDP};
use moonhook_install::RequestedMode::Native;
use moonhook_install::{
    InstallError, Link, LoadOptions, PinnedMap, Program, RequestedMode, Target, create_pin_folder,
    load_with_maps, section_bytes,
};
use std::path::PathBuf;

const KEY: [u8; 4] = [1, 0, 0, 0];
const STATE: &str = ".data.state";

fn load_after(earlier: &Program, maps: &[&str]) -> Result<Program, InstallError> {
    let maps: Vec<_> = maps.iter().map(|name| (name.to_string(), earlier.map_fd(name).unwrap())).collect();
    load_with_maps(&compile("basic.c"), &LoadOptions::default(), &maps)
}

fn state(program: &Program) -> u64 {
    program.data_section(STATE).unwrap().load(0).unwrap()
}

#[test]
fn maps_and_sections_are_common_to_both_programs() {
    if !kernel() {
        return;
    }
    let first = load_c("basic.c");
    first.map_update("limits", &KEY, &[9; 8]).unwrap();
    first.test_run("count", &[0; 60], 1).unwrap();
    let second = load_after(&first, &["limits", STATE]).unwrap();
    assert_eq!(second.map_lookup("limits", &KEY).unwrap(), Some(vec![9; 8]));
    assert_eq!((state(&first), state(&second)), (42, 42));
    second.test_run("count", &[0; 60], 1).unwrap();
    first.test_run("count", &[0; 60], 1).unwrap();
    assert_eq!((state(&first), state(&second)), (46, 46));
    assert!(second.data_section(STATE).unwrap().store(0, 7));
    assert_eq!(section_bytes(first.map_fd(STATE).unwrap()).unwrap(), 7u64.to_ne_bytes());
    assert_eq!(first.map_id(STATE).unwrap(), second.map_id(STATE).unwrap());
    assert_ne!(first.map_id("counters").unwrap(), second.map_id("counters").unwrap());
    drop(first);
    second.test_run("count", &[0; 60], 1).unwrap();
    assert_eq!((state(&second), state(&load_c("basic.c"))), (9, 40));
}

#[test]
fn maps_of_another_kind_are_refused() {
    if !kernel() {
        return;
    }
    let first = load_c("basic.c");
    let load = |name: &str, map: &str| {
        let maps = [(name.to_string(), first.map_fd(map).unwrap())];
        load_with_maps(&compile("basic.c"), &LoadOptions::default(), &maps).unwrap_err()
    };
    assert!(matches!(load("limits", "counters"), InstallError::MapAccess { .. }));
    assert!(matches!(load("absent", "counters"), InstallError::NoSuchItem { .. }));
    assert!(section_bytes(first.map_fd("limits").unwrap()).is_err());
}

/// A folder in the BPF file system, which goes with this value.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn pinned_links_and_maps_are_found_again() {
    if !kernel() {
        return;
    }
    let folder = Folder(PathBuf::from(format!("/sys/fs/bpf/mh-install-{}", std::process::id())));
    if create_pin_folder(&folder.0).is_err() {
        return println!("skipped: there is no BPF file system");
    }
    let namespace = Namespace::new("pins");
    let netns = Some(namespace.name.as_str());
    let (link_path, map_path) = (folder.0.join("link"), folder.0.join("map"));
    let pinned = |interface: &str| {
        let target =
            Target { interface: Some(interface.into()), mode: RequestedMode::Auto, netns, folder: None };
        Link::pinned(&link_path, &Point::at_interface(&XDP), &target)
    };
    assert!(pinned("left").unwrap().is_none());
    let first = load_c("basic.c");
    let link = first.attach("count", &XDP, "left", Native, netns).unwrap();
    link.pin(&link_path).unwrap();
    first.map_update("limits", &KEY, &[9; 8]).unwrap();
    first.pin_map("limits", &map_path).unwrap();
    let id = first.map_id("limits").unwrap();
    drop((link, first));
    let before = namespace.xdp("left").unwrap();

    assert!(matches!(pinned("right").unwrap_err(), InstallError::PinnedElsewhere { .. }));
    let mut link = pinned("left").unwrap().unwrap();
    assert_eq!(
        (link.mode().unwrap().to_string(), link.site().name().as_str()),
        (before.0.to_string(), "left")
    );
    let map = PinnedMap::open(&map_path).unwrap();
    assert_eq!(map.id(), id);
    let maps = [("limits".to_string(), map.as_fd())];
    let second = load_with_maps(&compile("basic.c"), &LoadOptions::default(), &maps).unwrap();
    assert_eq!(second.map_lookup("limits", &KEY).unwrap(), Some(vec![9; 8]));
    let mut other = pinned("left").unwrap().unwrap();
    link.update(&second, "count").unwrap();
    let after = namespace.xdp("left").unwrap().1;
    assert_ne!(after, before.1);
    // Who does not know of that replaces nothing.
    let replaced = other.update(&load_c("drop.c"), "drop_all").unwrap_err();
    assert!(
        matches!(&replaced, InstallError::Replaced { program_id, .. } if u64::from(*program_id) == after),
        "{replaced:?}"
    );
    assert_eq!(replaced.diagnostic().code, "MH0521");
    assert_eq!(namespace.xdp("left").unwrap().1, after);
    drop((link, other));

    assert!(Link::detach_pinned(&link_path).unwrap());
    assert_eq!(namespace.xdp("left"), None);
    assert!(!Link::detach_pinned(&link_path).unwrap());
}

#[test]
fn an_interface_that_is_gone_is_no_pinned_link() {
    if !kernel() {
        return;
    }
    let folder = Folder(PathBuf::from(format!("/sys/fs/bpf/mh-install-gone-{}", std::process::id())));
    if create_pin_folder(&folder.0).is_err() {
        return println!("skipped: there is no BPF file system");
    }
    let namespace = Namespace::new("gone");
    let link = load_c("drop.c").attach("drop_all", &XDP, "left", Native, Some(&namespace.name)).unwrap();
    link.pin(&folder.0.join("link")).unwrap();
    namespace.ip("link delete left");
    let netns = Some(namespace.name.as_str());
    let target = Target { interface: Some("left".into()), mode: RequestedMode::Auto, netns, folder: None };
    assert!(Link::pinned(&folder.0.join("link"), &Point::at_interface(&XDP), &target).unwrap().is_none());
}

#[test]
fn pins_take_a_bpf_file_system() {
    let path = std::env::temp_dir().join(format!("mh-install-{}", std::process::id()));
    let error = create_pin_folder(&path).unwrap_err();
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(error.code(), "MH0519");
    assert!(error.diagnostic().help.unwrap().contains("mount -t bpf"));
}
