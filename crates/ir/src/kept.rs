//! What a stage keeps of functions: the same function with the same maps around it comes to the same again.
//!
//! General code consists for the most part of functions that many programs have, and of the same program each time it is made again. A
//! stage is pure, so what it has made of a function stands for what it would make: nothing is seen of this but the time. A function is
//! kept *detached* from its module: it calls functions by their position among those that it mentions, and so with maps.

use crate::{Function, FunctionId, FunctionKind, Inst, Map, MapId, MapKind, Op};
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Instructions of all functions that are kept, at most: those of a large program or of a few small ones. A process that makes more of them starts over.
const MOST: usize = 100_000;

/// Bytes of a data section that a kept function mentions, at most.
const MOST_BYTES: usize = 4096;

/// What a detached function mentions, in the order in which it does so first.
#[derive(Clone, Debug, Default)]
pub struct References {
    functions: Vec<FunctionId>,
    maps: Vec<MapId>,
}

impl References {
    /// Detaches a function: puts positions in what is given in the place of numbers in the module.
    pub fn detach(function: &mut Function) -> References {
        let References { mut functions, mut maps } = References::default();
        function.renumber(|id| id.0 = position(&mut functions, *id), |id| id.0 = position(&mut maps, *id));
        References { functions, maps }
    }

    /// Undoes [`References::detach`], in the function itself or in what a stage has made of it.
    pub fn attach(&self, function: &mut Function) {
        function.renumber(|id| *id = self.function(*id), |id| *id = self.map(*id));
    }

    /// The function at a position.
    pub fn function(&self, position: FunctionId) -> FunctionId {
        self.functions[position.0 as usize]
    }

    /// The map at a position.
    pub fn map(&self, position: MapId) -> MapId {
        self.maps[position.0 as usize]
    }

    /// The position of a function that is mentioned.
    pub fn function_position(&self, id: FunctionId) -> Option<FunctionId> {
        self.functions.iter().position(|known| *known == id).map(|position| FunctionId(position as u32))
    }

    /// The position of a map that is mentioned.
    pub fn map_position(&self, id: MapId) -> Option<MapId> {
        self.maps.iter().position(|known| *known == id).map(|position| MapId(position as u32))
    }

    /// The maps that are mentioned, in their order; `None` if there is one that is not, or is too large to be kept.
    pub fn maps_of(&self, maps: &[Map]) -> Option<Vec<Map>> {
        let small = |map: &&Map| match &map.kind {
            MapKind::ReadOnlyData(bytes) | MapKind::Data(bytes) => bytes.len() <= MOST_BYTES,
            MapKind::Zeros(_) | MapKind::Map(_) | MapKind::Arena { .. } => true,
        };
        self.maps.iter().map(|id| maps.get(id.0 as usize).filter(small).cloned()).collect()
    }
}

fn position<T: Copy + PartialEq>(known: &mut Vec<T>, id: T) -> u32 {
    let position = known.iter().position(|known| *known == id).unwrap_or_else(|| {
        known.push(id);
        known.len() - 1
    });
    position as u32
}

/// Whether it is worth while to keep what comes of a function of general code: it comes from no line of a script, and so can be a part of
/// other programs.
pub fn is_kept(function: &Function) -> bool {
    let of_any_script = |inst: &Inst| inst.loc.line == 0 && !matches!(inst.op, Op::FunctionReference(_));
    function.given.is_none()
        && matches!(function.kind, FunctionKind::Subprogram { .. })
        && function.blocks.iter().flat_map(|block| &block.insts).all(of_any_script)
}

/// What a stage has made of functions.
pub struct Kept<T> {
    shelf: Mutex<Shelf<T>>,
}

struct Shelf<T> {
    /// By the hash of what it was made of.
    entries: BTreeMap<u64, Vec<Arc<Entry<T>>>>,
    size: usize,
}

struct Entry<T> {
    source: Source,
    made: T,
}

/// What something is made of, all of it.
#[derive(Clone, PartialEq)]
pub struct Source {
    /// Detached.
    pub function: Function,
    /// Those that it mentions.
    pub maps: Vec<Map>,
    /// What else the stage goes by.
    pub option: u32,
}

impl Source {
    /// Takes a detached function.
    pub fn of(function: &mut Function, maps: Vec<Map>, option: u32) -> Source {
        let empty = Function::new(String::new(), function.kind.clone(), 0);
        Source { function: std::mem::replace(function, empty), maps, option }
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.function.hash(&mut hasher);
        self.option.hash(&mut hasher);
        hasher.finish()
    }
}

impl<T: Clone> Kept<T> {
    pub const fn new() -> Self {
        Kept { shelf: Mutex::new(Shelf { entries: BTreeMap::new(), size: 0 }) }
    }

    /// What was made of it before, or what `make` makes of it. An error is not kept.
    pub fn get<E>(&self, source: Source, make: impl FnOnce(&Source) -> Result<T, E>) -> Result<T, E> {
        let hash = source.hash();
        let candidates = self.lock().entries.get(&hash).cloned().unwrap_or_default();
        if let Some(known) = candidates.iter().find(|entry| entry.source == source) {
            return Ok(known.made.clone());
        }
        let made = make(&source)?;
        let size = source.function.blocks.iter().map(|block| block.insts.len()).sum::<usize>();
        let mut shelf = self.lock();
        if shelf.size + size > MOST {
            *shelf = Shelf { entries: BTreeMap::new(), size: 0 };
        }
        shelf.size += size;
        shelf.entries.entry(hash).or_default().push(Arc::new(Entry { source, made: made.clone() }));
        Ok(made)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shelf<T>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Default for Kept<T> {
    fn default() -> Self {
        Kept::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MapDefinition, MapType, parse_function};
    use std::convert::Infallible;

    const CALLS: &str =
        "function f(v0) global {\nb0():\n  v1 = call f7(v0)\n  v2 = call f3(v1)\n  return v2\n}\n";

    fn ids(function: &Function) -> Vec<u32> {
        function.callees().map(|id| id.0).collect()
    }

    #[test]
    fn a_detached_function_is_the_same_in_all_modules() {
        let mut function = parse_function(CALLS).unwrap();
        let before = function.clone();
        let references = References::detach(&mut function);
        assert_eq!(ids(&function), [0, 1]);
        assert_eq!(references.function_position(FunctionId(3)), Some(FunctionId(1)));
        references.attach(&mut function);
        assert_eq!(function, before);
    }

    #[test]
    fn what_is_equal_is_made_once() {
        let kept = Kept::new();
        let made = |option: u32, maps: Vec<Map>, value: u32| {
            let source = Source::of(&mut parse_function(CALLS).unwrap(), maps, option);
            kept.get(source, |_| Ok::<_, Infallible>(value)).unwrap()
        };
        assert_eq!([made(0, vec![], 1), made(0, vec![], 2)], [1, 1]);
        assert_eq!(made(1, vec![], 3), 3, "another option");
        let map = |max_entries| Map {
            name: "m".into(),
            kind: MapKind::Map(MapDefinition {
                map_type: MapType::Hash,
                key_size: 4,
                value_size: 8,
                max_entries,
                flags: 0,
            }),
        };
        assert_eq!([made(0, vec![map(1)], 4), made(0, vec![map(2)], 5), made(0, vec![map(1)], 6)], [4, 5, 4]);
    }

    #[test]
    fn an_error_is_not_kept() {
        let kept = Kept::new();
        let source = || Source::of(&mut parse_function(CALLS).unwrap(), vec![], 0);
        assert_eq!(kept.get(source(), |_| Err::<u32, _>("failed")), Err("failed"));
        assert_eq!(kept.get(source(), |_| Ok::<_, &str>(1)), Ok(1));
    }
}
