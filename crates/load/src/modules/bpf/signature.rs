//! What functions and maps of objects are made of, by their types (BTF).

use moonhook_btf::{Kind, TypeId, Types};
use moonhook_link::{Map, Object};
use moonhook_snapshot::{Leaf, LoadedFunction, LoadedProgram, Parameter};

/// An integer in a record, and how Lua gets at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Names of fields and positions from 1, from the outside in. Empty where the record is the integer itself.
    pub path: Vec<Step>,
    pub leaf: Leaf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Field(String),
    Position(u32),
}

impl Part {
    /// The part as C names it in its record.
    pub fn title(&self) -> String {
        let step = |(index, step): (usize, &Step)| match step {
            Step::Field(field) if index == 0 => field.clone(),
            Step::Field(field) => format!(".{field}"),
            Step::Position(position) => format!("[{}]", position - 1),
        };
        self.path.iter().enumerate().map(step).collect()
    }
}

/// Integers of one record, at most.
pub const MOST: usize = 64;

/// Bytes of a record, at most: it lies on the stack.
const LARGEST: u32 = 128;

/// How deep records are nested, at most.
const DEEPEST: usize = 4;

/// A function, with the names of its parameters and the parts of those that are records.
pub struct Signature {
    pub function: LoadedFunction,
    pub names: Vec<String>,
    pub parts: Vec<Vec<Part>>,
}

/// What a function of an object takes and gives.
///
/// # Errors
/// What handlers cannot give or take, in words that follow the function's name.
pub fn of_function(object: &Object, program: LoadedProgram) -> Result<Signature, String> {
    let types = &*object.types;
    let function = &object.functions[program.function];
    let prototype = match function.ty.map(|ty| types.kind(ty)) {
        Some(Kind::Function(prototype)) => prototype,
        _ => return Err("has no prototype: compile it with `clang -g`".into()),
    };
    let Kind::Prototype(gives) = types.kind(prototype) else { return Err("has no prototype".into()) };
    let (mut parameters, mut names, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (number, member) in types.members(prototype).iter().enumerate() {
        let (parameter, own) = parameter(types, member.type_id)
            .map_err(|problem| format!("takes, as parameter {}, {problem}", number + 1))?;
        parameters.push(parameter);
        parts.push(own);
        names.push(member.name.to_string());
    }
    let result = match types.kind(types.resolved(gives)) {
        Kind::Void => None,
        _ => Some(number(types, gives).ok_or("gives what is no integer")?),
    };
    Ok(Signature { function: LoadedFunction { program, parameters, result }, names, parts })
}

fn parameter(types: &Types, ty: TypeId) -> Result<(Parameter, Vec<Part>), String> {
    if let Some(leaf) = number(types, ty) {
        return Ok((Parameter::Number(leaf), Vec::new()));
    }
    let Kind::Pointer(to) = types.kind(types.resolved(ty)) else {
        return Err("what is no integer and no record".into());
    };
    let resolved = types.resolved(to);
    let name = types.name(resolved);
    if moonhook_hook::HOOKS.iter().any(|hook| hook.context.structure == name) {
        return Ok((Parameter::Context(name.to_string()), Vec::new()));
    }
    let parts = parts(types, to).map_err(|problem| format!("a pointer to what {problem}"))?;
    let (bytes, is_constant) = (types.size(resolved), types.is_constant(to));
    let leaves = parts.iter().map(|part| part.leaf).collect();
    Ok((Parameter::Record { bytes, leaves, is_constant }, parts))
}

/// The parts of keys and values of a map.
///
/// # Errors
/// What packet code cannot read or write, in words that follow the map's name.
pub fn of_map(object: &Object, map: &Map) -> Result<[Vec<Part>; 2], String> {
    /// Rings, stacks and maps of programs or maps are no tables (`enum bpf_map_type`).
    const TABLES: [u32; 7] = [1, 2, 5, 6, 9, 10, 11];
    if !is_identifier(&map.name) {
        return Err("has a name that is none in C".into());
    }
    if !TABLES.contains(&map.map_type) {
        return Err("is of a type that has no entries to read".into());
    }
    let of = |what: &str, (size, ty): (u32, Option<TypeId>)| match ty {
        Some(ty) => parts(&object.types, ty).map_err(|problem| format!("has {what} that {problem}")),
        None if [1, 2, 4, 8].contains(&size) => Ok(vec![Part { path: vec![], leaf: plain(size) }]),
        None => Err(format!("has {what} without a type")),
    };
    Ok([of("keys", map.key)?, of("values", map.value)?])
}

/// Whether it is a name in C. Names become a part of text in Lua: nothing else in a file may.
pub fn is_identifier(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| is_part(c) && !c.is_ascii_digit()) && name.chars().all(is_part)
}

fn plain(bytes: u32) -> Leaf {
    Leaf { offset: 0, bytes, is_signed: false, is_flag: false }
}

/// An integer, an enumeration or a flag.
fn number(types: &Types, ty: TypeId) -> Option<Leaf> {
    let ty = types.resolved(ty);
    let (bytes, is_signed) = match types.kind(ty) {
        Kind::Integer { bytes, signed } | Kind::Enumeration { bytes, signed } => (bytes, signed),
        _ => return None,
    };
    let is_flag = types.name(ty) == "_Bool";
    [1, 2, 4, 8].contains(&bytes).then_some(Leaf { offset: 0, bytes, is_signed, is_flag })
}

/// All integers in a type.
///
/// # Errors
/// What packet code cannot have of it, in words that follow a name.
pub fn parts(types: &Types, ty: TypeId) -> Result<Vec<Part>, String> {
    if types.size(types.resolved(ty)) > LARGEST {
        return Err(format!("has more than {LARGEST} bytes"));
    }
    let mut walk = Walk { path: Vec::new(), parts: Vec::new(), depth: 0, left: MOST_TYPES };
    add(types, (ty, 0), &mut walk)?;
    match walk.parts.is_empty() {
        true => Err("has no integers in it".into()),
        false => Ok(walk.parts),
    }
}

/// Types within a record that are looked at: in files, structures without any bytes can be in one another, and very many of them in an array.
const MOST_TYPES: usize = 1000;

/// Structures and arrays within one another, those without a name among them.
const MOST_LEVELS: usize = 16;

/// What is known on the way through a record.
struct Walk {
    path: Vec<Step>,
    parts: Vec<Part>,
    /// Structures and arrays around the place.
    depth: usize,
    /// How many types may still be looked at.
    left: usize,
}

fn add(types: &Types, at: (TypeId, u32), walk: &mut Walk) -> Result<(), String> {
    if walk.depth == MOST_LEVELS || walk.left == 0 {
        return Err("is nested too deeply".into());
    }
    (walk.depth, walk.left) = (walk.depth + 1, walk.left - 1);
    let added = add_within(types, at, walk);
    walk.depth -= 1;
    added
}

fn add_within(types: &Types, (ty, offset): (TypeId, u32), walk: &mut Walk) -> Result<(), String> {
    if let Some(leaf) = number(types, ty) {
        if walk.parts.len() == MOST {
            return Err(format!("has more than {MOST} integers"));
        }
        walk.parts.push(Part { path: walk.path.clone(), leaf: Leaf { offset, ..leaf } });
        return Ok(());
    }
    if walk.path.len() == DEEPEST {
        return Err("is nested too deeply".into());
    }
    let ty = types.resolved(ty);
    match types.kind(ty) {
        Kind::Structure { is_union, .. } => {
            // A union is what it is called first.
            for member in types.members(ty).into_iter().take(if is_union { 1 } else { usize::MAX }) {
                if member.bits > 0 {
                    return Err(format!("has a field '{}' that is some bits of a word", member.name));
                }
                let at = (member.type_id, offset.saturating_add(member.offset / 8));
                // Fields of a structure without a name are those of the one around it.
                let is_structure =
                    matches!(types.kind(types.resolved(member.type_id)), Kind::Structure { .. });
                match member.name {
                    "" if is_structure => add(types, at, walk)?,
                    name if !is_identifier(name) => return Err("has a field whose name is none in C".into()),
                    _ => within(types, at, Step::Field(member.name.to_string()), walk)?,
                }
            }
            Ok(())
        }
        Kind::Array { of, length } => {
            let each = types.size(of);
            for index in 0..length.min(MOST as u32 + 1) {
                let at = (of, offset.saturating_add(index.saturating_mul(each)));
                within(types, at, Step::Position(index + 1), walk)?;
            }
            Ok(())
        }
        _ => Err("has something in it that is no integer".into()),
    }
}

fn within(types: &Types, at: (TypeId, u32), step: Step, walk: &mut Walk) -> Result<(), String> {
    walk.path.push(step);
    let outcome = add(types, at, walk);
    walk.path.pop();
    outcome
}
