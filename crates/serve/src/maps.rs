//! The maps of programs in C that scripts have: by the paths under which they are pinned, and as JSON.
//!
//! A session tells of its maps when its programs are put into the kernel, and has them shown as long as it has a [`Presence`]; who asks for one
//! waits for no session, and for no work of the kernel's.

use crate::ServeError;
use crate::config::Config;
use crate::limits::{ENTRIES, MAX_ANSWER};
use crate::pinned::{Pinnable, Pins, Serial, Staged};
use crate::recorder::Recorder;
use crate::shown::{list, show, show_bytes};
use moonhook_btf::TypeId;
use moonhook_install::{InstallError, MapReader, MapValue, Program};
use moonhook_link::Object;
use moonhook_session::{ObjectMap, SessionError};
use std::collections::BTreeMap;
use std::path::Path;
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
pub struct Maps {
    /// Held for no work of the kernel's.
    scripts: Mutex<BTreeMap<Serial, Vec<Arc<ScriptMap>>>>,
    pins: Arc<Pins<Arc<ScriptMap>>>,
}

/// Maps that are to be shown, and their pins.
struct Prepared {
    maps: Vec<Arc<ScriptMap>>,
    staged: Staged<Arc<ScriptMap>>,
}

/// The maps of one script, and their pins. They are there from [`Presence::show`] on, until this is dropped.
pub struct Presence {
    maps: Arc<Maps>,
    serial: Serial,
    is_shown: bool,
    prepared: Option<Prepared>,
}

impl Presence {
    /// Of a script that begins.
    pub fn new(maps: Arc<Maps>, serial: Serial) -> Presence {
        Presence { maps, serial, is_shown: false, prepared: None }
    }

    /// These are the script's maps: from [`Presence::show`] on, and if that was before, at once.
    ///
    /// # Errors
    /// What the kernel refuses; what was there is there.
    pub fn prepare(&mut self, maps: Vec<Arc<ScriptMap>>) -> Result<(), InstallError> {
        let staged = self.maps.pins.stage(self.serial, maps.iter().map(Arc::clone))?;
        self.prepared = Some(Prepared { maps, staged });
        if self.is_shown {
            self.show();
        }
        Ok(())
    }

    pub fn show(&mut self) {
        self.is_shown = true;
        let Some(Prepared { maps, staged }) = self.prepared.take() else { return };
        let earlier = self.maps.scripts().insert(self.serial, maps);
        staged.put();
        // Closes descriptors, behind the lock.
        drop(earlier);
    }

    pub fn is_shown(&self) -> bool {
        self.is_shown
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let earlier = self.maps.scripts().remove(&self.serial);
        self.maps.pins.release(self.serial);
        drop(earlier);
    }
}

impl Pinnable for Arc<ScriptMap> {
    fn place(&self) -> [String; 3] {
        ScriptMap::place(self)
    }

    fn pin(&self, path: &Path) -> Result<(), InstallError> {
        self.reader.pin(path)
    }
}

impl Maps {
    pub fn new(config: &Config) -> Maps {
        Maps { scripts: Mutex::default(), pins: Arc::new(Pins::new(config)) }
    }

    fn scripts(&self) -> MutexGuard<'_, BTreeMap<Serial, Vec<Arc<ScriptMap>>>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
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
        let all = || scripts.values().flatten();
        let mut found = all().filter(|known| is_it(known));
        match (found.next(), found.next()) {
            (Some(map), None) => Ok(Arc::clone(map)),
            // Several scripts have one; the pin is the newest one's, and who gives no program may mean any.
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
        // One that has gone meanwhile is none.
        let read = |key: Vec<u8>| Some(self.lookup(&key).transpose()?.map(|value| (key, value)));
        let entries = self.reader.keys().filter_map(read);
        let show = |out: &mut String, (key, value): (Vec<u8>, MapValue)| {
            self.show_entry(out, &key, &value, true);
        };
        listed(entries, (ENTRIES, LONGEST), show)?.map_err(|problem| self.unreadable(problem))
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
        if out.len() > LONGEST { Err(self.unreadable(TOO_LONG)) } else { Ok(out) }
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

/// Bytes of JSON that one answer shows: it has something around it.
const LONGEST: usize = MAX_ANSWER - 1024;

const TOO_LONG: &str = "it is longer than an answer can be";

/// A list in JSON, made as entries are read; or what of it is too much, at so many entries or bytes.
fn listed<T>(
    entries: impl Iterator<Item = Result<T, ServeError>>,
    (most, longest): (usize, usize),
    show: impl Fn(&mut String, T),
) -> Result<Result<String, &'static str>, ServeError> {
    let mut out = "[".to_string();
    for (number, entry) in entries.enumerate() {
        if number == most {
            return Ok(Err("it has too many entries"));
        }
        if number > 0 {
            out.push(',');
        }
        show(&mut out, entry?);
        if out.len() >= longest {
            return Ok(Err(TOO_LONG));
        }
    }
    out.push(']');
    Ok(Ok(out))
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
    fn a_list_ends_where_an_answer_does() {
        let of = |count: usize, most, longest| {
            let show = |out: &mut String, number: usize| out.push_str(&number.to_string());
            listed((0..count).map(Ok), (most, longest), show).unwrap()
        };
        assert_eq!(of(0, 9, 9), Ok("[]".to_string()));
        assert_eq!(of(3, 3, 9), Ok("[0,1,2]".to_string()));
        assert_eq!(of(4, 3, 9), Err("it has too many entries"));
        assert_eq!(of(usize::MAX, usize::MAX, 1000), Err(TOO_LONG));
        let failing = [Ok(1), Err(ServeError::Token)].into_iter();
        assert!(listed(failing, (9, 99), |_, _: i32| ()).is_err());
    }

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
}
