//! What is found, cleaned away and told of pins.

use super::*;

struct Place {
    folder: tempfile::TempDir,
    runtime: RuntimeFolder,
    name: Name,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let runtime = RuntimeFolder::new(folder.path().join("run"));
        std::fs::create_dir(runtime.path()).unwrap();
        Place { folder, runtime, name: "a.b".parse().unwrap() }
    }

    fn bpffs(&self, which: &str) -> PathBuf {
        self.folder.path().join(which)
    }

    fn pins(&self, which: &str) -> Pins {
        Pins::of(Some(&self.bpffs(which)), &self.runtime, &self.name)
    }

    /// Files in the place of pins.
    fn pin(&self, which: &str, names: &[&str]) {
        let folder = folder_in(&self.bpffs(which), &self.name);
        std::fs::create_dir_all(&folder).unwrap();
        names.iter().for_each(|name| std::fs::write(folder.join(name), "").unwrap());
    }

    fn note(&self, which: &str, hook: &str) {
        let record = Record {
            interface: Some("eth7".to_string()),
            hook: hook.to_string(),
            programs: hook.split(", ").count(),
            netns: None,
            mode: "native".to_string(),
            scripts: Vec::new(),
            folder: Some(folder_in(&self.bpffs(which), &self.name)),
            content: Content::default(),
            maps: BTreeMap::new(),
        };
        self.pins(which).write(&record).unwrap();
    }

    /// What the folder has: the names of scripts, and of this one interface, pinned, incomplete.
    fn listed(&self, which: &str) -> Option<(Option<String>, bool, bool)> {
        let names = Pins::names(Some(&self.bpffs(which)), &self.runtime);
        assert_eq!(names.contains(&self.name), !names.is_empty());
        let status = names.first().map(|name| self.pins(which).status_with(name, |_| true))?;
        Some((status.interface, status.pinned, status.incomplete))
    }
}

#[test]
fn pins_without_a_link_are_incomplete() {
    let place = Place::new();
    std::fs::create_dir_all(place.bpffs("one").join("of-others")).unwrap();
    assert_eq!(place.listed("one"), None);
    place.pin("one", &["map-7"]);
    assert_eq!(place.listed("one"), Some((Some("?".to_string()), false, true)));
    place.note("one", "xdp, tc.ingress");
    let interface = || Some("eth7".to_string());
    assert_eq!(place.listed("one"), Some((interface(), false, true)));
    place.pin("one", &["link-xdp"]);
    assert_eq!(place.listed("one"), Some((interface(), true, true)));
    place.pin("one", &["link-tc+ingress"]);
    assert_eq!(place.listed("one"), Some((interface(), true, false)));
}

#[test]
fn only_what_has_no_link_is_cleaned_away() {
    let place = Place::new();
    place.pin("one", &["map-7", "link-xdp"]);
    place.note("one", "xdp");
    place.pin("two", &["map-8"]);
    place.pins("two").clean().unwrap();
    assert_eq!((place.listed("two"), place.pins("one").links().len()), (None, 1));
    place.pins("one").clean().unwrap();
    assert_eq!(place.listed("one"), Some((Some("eth7".to_string()), true, false)));
}

#[test]
fn what_is_noted_of_another_folder_is_cleaned_away() {
    let place = Place::new();
    place.pin("one", &["map-7", "map-8"]);
    place.note("one", "xdp");
    place.pins("two").clean().unwrap();
    assert!(!folder_in(&place.bpffs("one"), &place.name).exists() && place.pins("one").record().is_none());
}
