//! Which maps of C objects a program has, and what they are called there.

use moonhook_ir::Module;
use moonhook_link::{Map, Object};
use std::path::Path;
use std::sync::Arc;

/// A map of a C object, in a program.
#[derive(Clone, Debug)]
pub struct ObjectMap {
    pub object: Arc<Object>,
    /// Of the map there.
    pub number: usize,
    /// What the program calls the map. Weak ones of several objects can be one.
    pub name: String,
    /// Folder and name of the object's file, and the map as the object calls it: `own/meter/hits`.
    pub path: String,
}

impl ObjectMap {
    /// All that a module has of these objects, which have the numbers that it knows them by.
    pub fn all(module: &Module, objects: &[Arc<Object>]) -> Vec<ObjectMap> {
        let titles = titles(objects);
        let of_module = module.object_maps.iter().filter_map(|map| {
            let object = Arc::clone(objects.get(map.object)?);
            let own = &object.maps.get(map.number)?.name;
            let path = format!("{}/{own}", titles[map.object]);
            Some(ObjectMap { number: map.number, name: module.map(map.map).name.clone(), path, object })
        });
        of_module.collect()
    }

    pub fn definition(&self) -> &Map {
        &self.object.maps[self.number]
    }
}

/// What objects are called: folder and file, without what such files end with. Of equal ones, from the second on, with numbers.
fn titles(objects: &[Arc<Object>]) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    for object in objects {
        let title = title(Path::new(&object.name));
        let numbered = |number: u32| if number == 1 { title.clone() } else { format!("{title}-{number}") };
        let free = (1..).map(numbered).find(|name| !titles.contains(name));
        titles.push(free.unwrap_or(title));
    }
    titles
}

fn title(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".bpf.o", ".bpf.c", ".o", ".c"];
    let stem = ends.iter().find_map(|end| file.strip_suffix(end)).unwrap_or(&file);
    match path.parent().and_then(Path::file_name) {
        Some(folder) => format!("{}/{stem}", folder.to_string_lossy()),
        None => stem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_called_by_their_files() {
        for (path, expected) in [
            ("meter.bpf.o", "meter"),
            ("/packages/own/counter.bpf.c", "own/counter"),
            ("lib/x.o", "lib/x"),
            ("x.obj", "x.obj"),
            ("", ""),
        ] {
            assert_eq!(title(Path::new(path)), expected);
        }
    }
}
