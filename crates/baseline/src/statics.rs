//! Load-time data that routines find through the state: sites, names, the metatable of strings.

use super::library::global_name;
use super::{General, reach};
use moonhook_library::Function;
use moonhook_library::standard::STRING;
use moonhook_runtime::image::{TableContent, table_size};
use moonhook_runtime::layout::*;
use moonhook_snapshot::operation::EVENTS;
use moonhook_snapshot::{TableId, Value};

impl General<'_> {
    /// Puts the tables of the routines into the image; gives what the state's fields are to be.
    pub fn finish_statics(&mut self, string_meta: u64) -> Vec<(i64, u64)> {
        let events: Vec<u64> = EVENTS.iter().map(|name| self.image.text(name.as_bytes())).collect();
        let names = self.builtin_names.clone();
        let names: Vec<u64> =
            names.iter().map(|name| self.image.text(global_name(name).as_bytes())).collect();
        let objects = moonhook_specialise::stubs::object_names();
        let objects: Vec<u64> = objects.iter().map(|name| self.image.text(name.as_bytes())).collect();
        let sites: Vec<u64> = self.sites.iter().flat_map(|site| site.words()).collect();
        let shared_meta = self.shared_metatable();
        vec![
            (L_SHARED_META, shared_meta),
            (L_RECORD_NAMES, self.record_names()),
            (L_EVENTS, self.image.words(&events)),
            (L_BUILTIN_NAMES, self.image.words(&names)),
            (L_OBJECT_NAMES, self.image.words(&objects)),
            (L_SITES, self.image.words(&sites)),
            (L_STRING_META, string_meta),
        ]
    }

    pub fn put_table(&mut self, content: &TableContent) -> u64 {
        let address = self.image.reserve(table_size(content.array.len(), content.entries.len()));
        self.write_table(address, content);
        address
    }

    /// The metatable of strings: `__index` is the string library.
    pub fn string_metatable(&mut self) -> u64 {
        let methods = match self.table_of_strings() {
            Some(id) => self.constant(&Value::Table(id)),
            None => (TAG_TABLE, self.mentioned_methods()),
        };
        let key = ((TAG_STRING, self.image.text(b"__index")), moonhook_runtime::text_hash(b"__index"));
        let entries = vec![(key.0, key.1, methods)];
        self.put_table(&TableContent { array: vec![], entries, metatable: 0, flags: 0 })
    }

    /// The table of strings' methods; None where it is not in the program as such.
    pub fn table_of_strings(&self) -> Option<TableId> {
        let snapshot = self.functions.snapshot;
        let is_string = |id: &TableId| {
            snapshot.table(*id).name.as_deref() == Some("string") && reach::is_library(snapshot, *id)
        };
        let library = (0..snapshot.tables.len() as u32).map(TableId).find(is_string);
        snapshot.strings.or(library).filter(|id| self.reach.tables.contains(id))
    }

    /// A table of the functions of the string library whose names stand in the script.
    fn mentioned_methods(&mut self) -> u64 {
        let mentions = &self.reach.mentions;
        let is_present =
            |method: &&Function| method.is_for_packets() && mentions.contains(method.key().as_bytes());
        let (mut present, missing): (Vec<&Function>, Vec<_>) = STRING.functions.iter().partition(is_present);
        present.sort_by_key(|method| method.key());
        let mut entries = Vec::new();
        for method in present {
            let (name, function) = (method.key().as_bytes(), self.builtin(method.name));
            let key = (TAG_STRING, self.image.text(name));
            entries.push((key, moonhook_runtime::text_hash(name), function));
        }
        for method in missing {
            entries.push(self.missing_entry(method.key().as_bytes()));
        }
        self.put_table(&TableContent { array: vec![], entries, metatable: 0, flags: 0 })
    }
}
