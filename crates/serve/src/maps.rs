//! The maps of programs in C that scripts have: by the paths under which they are pinned, and as JSON.
//!
//! A session tells of its maps when its programs are put into the kernel; from then on who asks for one waits for no session.

use crate::ServeError;
use crate::limits::ENTRIES;
use crate::pinned::PinnedMaps;
use crate::recorder::Recorder;
use crate::shown::{list, show, show_bytes};
use moonhook_btf::TypeId;
use moonhook_daemon::Name;
use moonhook_install::{InstallError, MapReader, MapValue, Program};
use moonhook_link::Object;
use moonhook_session::{ObjectMap, SessionError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A map of a program in C.
pub struct ScriptMap {
    /// As the script names them, and the map as its program does.
    pub package: String,
    pub program: String,
    pub map: String,
    reader: MapReader,
    object: Arc<Object>,
    key: Option<TypeId>,
    value: Option<TypeId>,
}

/// What the names of maps begin with that are the virtual machine's in HIKe, and ours here: all programs share them.
const OWN: &str = "hvm_";

/// The maps of all scripts.
#[derive(Default)]
pub struct Maps {
    scripts: Mutex<BTreeMap<Name, Shown>>,
}

/// What a script has.
struct Shown {
    maps: Vec<Arc<ScriptMap>>,
    pins: PinnedMaps,
}

impl Maps {
    fn scripts(&self) -> MutexGuard<'_, BTreeMap<Name, Shown>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A script has these programs with these maps from now on, which are pinned.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn put(
        &self,
        name: &Name,
        maps: Vec<Arc<ScriptMap>>,
        mut pins: PinnedMaps,
    ) -> Result<(), InstallError> {
        let mut scripts = self.scripts();
        let earlier = scripts.remove(name);
        let pinned = maps.iter().try_for_each(|map| pins.pin(&map.place(), &map.reader));
        if let Some(Shown { pins: earlier, .. }) = earlier {
            earlier.remove_but(&pins);
        }
        scripts.insert(name.clone(), Shown { maps, pins });
        pinned
    }

    /// A script is gone.
    pub fn remove(&self, name: &Name) {
        if let Some(Shown { pins, .. }) = self.scripts().remove(name) {
            pins.remove_but(&PinnedMaps::none());
        }
    }

    /// The map that a path ends with, or its name alone where there is one of that name.
    ///
    /// # Errors
    /// `NoMap`.
    pub fn find(&self, path: &str) -> Result<Arc<ScriptMap>, ServeError> {
        let mut parts = path.rsplit('/');
        let [map, program, package] = [parts.next(), parts.next(), parts.next()];
        let is_it = |known: &ScriptMap| {
            Some(known.map.as_str()) == map
                && program.is_none_or(|program| known.program == program)
                && package.is_none_or(|package| known.package == package)
        };
        let scripts = self.scripts();
        let all = || scripts.values().flat_map(|shown| &shown.maps);
        let mut found = all().filter(|known| is_it(known));
        match (found.next(), found.next()) {
            (Some(map), None) => Ok(Arc::clone(map)),
            // Several scripts have one; the pin is the last one's, and who gives no program may mean any.
            (Some(_), Some(_)) if program.is_some() => {
                all().rfind(|known| is_it(known)).map(Arc::clone).ok_or_else(|| no_map(path, &[]))
            }
            _ => Err(no_map(path, &all().map(|known| known.place().join("/")).collect::<Vec<_>>())),
        }
    }
}

fn no_map(path: &str, known: &[String]) -> ServeError {
    let known = known.to_vec();
    ServeError::NoMap { path: path.chars().take(200).collect(), known }
}

impl ScriptMap {
    /// Those of a loaded program's maps of C objects that are of programs of packages.
    ///
    /// # Errors
    /// Where there are no descriptors left.
    pub fn all(
        recorder: &Recorder,
        objects: &[ObjectMap],
        program: &Program,
    ) -> Result<Vec<Arc<ScriptMap>>, InstallError> {
        let mut all = Vec::new();
        for of in objects {
            let map = of.definition();
            // What a script has loaded itself is of no package: `moonhook table` reads it.
            let Some([package, name]) = recorder.names(&of.object) else { continue };
            if map.name.starts_with(OWN) {
                continue;
            }
            all.push(Arc::new(ScriptMap {
                package,
                program: name,
                map: map.name.clone(),
                reader: program.reader(&of.name)?,
                object: Arc::clone(&of.object),
                key: map.key.1,
                value: map.value.1,
            }));
        }
        Ok(all)
    }

    fn place(&self) -> [String; 3] {
        [self.package.clone(), self.program.clone(), self.map.clone()]
    }

    fn unreadable(&self, problem: &'static str) -> ServeError {
        ServeError::Unreadable { map: self.map.clone(), kind: self.reader.map_type(), problem }
    }

    fn lookup(&self, key: &[u8]) -> Result<Option<MapValue>, ServeError> {
        Ok(self.reader.lookup(key).map_err(SessionError::from)?)
    }

    /// All entries, as `bpftool map dump` shows them.
    ///
    /// # Errors
    /// `Unreadable`; what the kernel refuses.
    pub fn dump(&self) -> Result<String, ServeError> {
        if !self.reader.has_entries() {
            return Err(self.unreadable("it has no entries of bytes"));
        }
        let mut entries = Vec::new();
        for key in self.reader.keys() {
            if entries.len() == ENTRIES {
                return Err(self.unreadable("it has too many entries"));
            }
            // One that has gone meanwhile is none.
            if let Some(value) = self.lookup(&key)? {
                entries.push((key, value));
            }
        }
        let mut out = String::new();
        list(&mut out, &entries, |out, (key, value)| self.show_entry(out, key, value, true));
        Ok(out)
    }

    /// The entry at a key, as `bpftool --json map lookup` shows it; `null` without one.
    ///
    /// # Errors
    /// `Key`, `Unreadable`; what the kernel refuses.
    pub fn get(&self, text: &str) -> Result<String, ServeError> {
        let wrong = |problem: &str| ServeError::Key {
            map: self.map.clone(),
            key: text.chars().take(60).collect(),
            problem: problem.to_string(),
        };
        if !self.reader.has_entries() {
            return Err(self.unreadable("it has no entries of bytes"));
        }
        let number = number(text).ok_or_else(|| wrong("it is no number below 2^32"))?;
        let key = number.to_le_bytes();
        if self.reader.key_size() != key.len() {
            return Err(wrong(&format!("keys have {} bytes", self.reader.key_size())));
        }
        let Some(value) = self.lookup(&key)? else { return Ok("null".to_string()) };
        let mut out = String::new();
        self.show_entry(&mut out, &key, &value, false);
        if self.key.is_some() && self.value.is_some() {
            out.pop();
            out.push_str(",\"formatted\":");
            self.show_entry(&mut out, &key, &value, true);
            out.push('}');
        }
        Ok(out)
    }

    /// `{"key":…,"value":…}`, or `"values"` of each CPU; by the types, or as bytes.
    fn show_entry(&self, out: &mut String, key: &[u8], value: &MapValue, by_type: bool) {
        let types = |id: Option<TypeId>| id.filter(|_| by_type).map(|id| (&*self.object.types, id));
        let one = |out: &mut String, bytes: &[u8]| show(out, (bytes, types(self.value)));
        out.push_str("{\"key\":");
        match types(self.key) {
            Some(ty) => show(out, (key, Some(ty))),
            None => show_bytes(out, key),
        }
        match value {
            MapValue::One(bytes) => {
                out.push_str(",\"value\":");
                one(out, bytes);
            }
            MapValue::PerCpu(values) => {
                out.push_str(",\"values\":");
                list(out, values.iter().enumerate(), |out, (cpu, bytes)| {
                    out.push_str(&format!("{{\"cpu\":{cpu},\"value\":"));
                    one(out, bytes);
                    out.push('}');
                });
            }
        }
        out.push('}');
    }
}

/// Decimal digits, or hexadecimal ones behind `0x`.
fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')),
        None => text.parse().ok().filter(|_| !text.starts_with('+')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbers() {
        for (text, expected) in [
            ("64", Some(64)),
            (" 7 ", Some(7)),
            ("0x40", Some(64)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", None),
            ("-1", None),
            ("+1", None),
            ("0x+1", None),
            ("", None),
            ("a", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn a_map_that_is_not_there_is_an_error() {
        let error = Maps::default().find("/sys/fs/bpf/maps/a/b/c").err().unwrap();
        assert_eq!(error.code(), "MH1007");
    }
}
