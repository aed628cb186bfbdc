//! Records of tracepoints as events. The file `format` says what is where in the running kernel; the kernel's types, which have a structure for
//! each class of records (`trace_event_raw_…`), let objects find it in others, too.

use super::format::{FormatField, fields};
use moonhook_btf::{Argument, Content, Event, Place, TypeId, Types};

/// How structures of records are called (include/trace/stages/stage1_struct_define.h).
const STRUCTURE: &str = "trace_event_raw_";

/// How a field is declared that says where a text of any length is, and how it is called in structures then.
const LOCATED: [(&str, bool); 2] = [("__data_loc", false), ("__rel_loc", true)];

/// What the tracepoint with that format hands over.
pub fn event(types: &Types, name: &str, format: &str) -> Event {
    let fields = fields(format);
    let own = name.rsplit('/').next().unwrap_or(name);
    let structure = structure(types, own, &fields);
    let arguments = fields.iter().map(|field| argument(types, structure, field)).collect();
    Event { structure: structure.map(|id| types.name(id).into()), arguments }
}

/// The structure of a record with these fields: that of the tracepoint's own name, or of the class that it is of.
fn structure(types: &Types, name: &str, fields: &[FormatField]) -> Option<TypeId> {
    let own = types.structure(&format!("{STRUCTURE}{name}"));
    let own = own.filter(|id| has_fields(types, *id, fields));
    let is_it = |id: &TypeId| types.name(*id).starts_with(STRUCTURE) && has_fields(types, *id, fields);
    own.or_else(|| types.all().find(is_it))
}

fn has_fields(types: &Types, id: TypeId, fields: &[FormatField]) -> bool {
    let is_there = |field: &FormatField| {
        let found = types.field(id, &name_in_structure(field));
        found.is_some_and(|found| {
            found.bits.is_none() && (found.offset, types.size(found.type_id)) == (field.offset, field.size)
        })
    };
    // In front of the fields are those that all records have, behind them is what is of any length.
    !fields.is_empty() && types.members(id).len() == fields.len() + 2 && fields.iter().all(is_there)
}

fn name_in_structure(field: &FormatField) -> String {
    match located(field) {
        Some((start, _)) => format!("{start}_{}", field.name),
        None => field.name.clone(),
    }
}

fn located(field: &FormatField) -> Option<&'static (&'static str, bool)> {
    LOCATED.iter().find(|(start, _)| field.ty.starts_with(start))
}

fn argument(types: &Types, structure: Option<TypeId>, field: &FormatField) -> Argument {
    let (offset, is_described) = (field.offset, structure.is_some());
    let (content, place) = match located(field) {
        Some((_, is_relative)) => {
            let content = if field.ty.contains("char[") { Content::Text } else { Content::Nothing };
            (content, Place::Located { offset, is_relative: *is_relative, is_described })
        }
        None => {
            let described = structure.and_then(|id| types.field(id, &field.name));
            let content = described.map_or_else(|| declared(field), |found| found.content);
            (content, Place::Record { offset, is_described })
        }
    };
    Argument { name: field.name.as_str().into(), content, place }
}

/// What a field is as far as its declaration tells. Addresses of texts may be those of a process.
fn declared(field: &FormatField) -> Content {
    if let Some((element, _)) = field.ty.split_once('[') {
        return match element.trim() {
            "char" => Content::Characters(field.size),
            "unsigned char" | "u8" | "__u8" | "uint8_t" => Content::Bytes(field.size),
            _ => Content::Nothing,
        };
    }
    match field.size {
        8 if field.ty.ends_with('*') => Content::Address,
        1 if field.ty == "bool" => Content::Flag,
        bytes @ (1 | 2 | 4 | 8) => Content::Number { bytes, signed: field.signed, is_enumeration: false },
        _ => Content::Nothing,
    }
}
