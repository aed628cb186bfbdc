//! What a program takes over from the one that it replaces.
//!
//! A table is taken over as it is, map and all, if name and schema are the same. Variables live in one data section: it is taken
//! over if the variables in it are the same; otherwise those of the same name and type are copied over when the programs are
//! exchanged. Those of general code lie in its arena, and are always copied. The counters of verdicts are common to generations that have
//! programs for the same hooks.

use crate::SessionError;
use crate::content::{Content, Earlier, Listed, Table, Variable};
use moonhook_daemon::{Kept, TableKept};
use moonhook_engine::Kernel;
use moonhook_install::DataSection;
use moonhook_ir::maps::sections::{STATE, VERDICTS};
use moonhook_ir::{self as ir, Sums, VariableContent, VariableKind};
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

/// What becomes of each table and variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inheritance {
    pub tables: Vec<TableKept>,
    pub variables: Vec<TableKept>,
    /// Both count verdicts in the same place.
    pub counts_go_on: bool,
    /// Names of maps in the new object, and of those of the earlier program that take their places.
    maps: Vec<(String, String)>,
    /// Variables to copy.
    copies: Vec<Copied>,
    /// Entries that the earlier scripts have listed for maps that go on, and these do not list.
    unlisted: Vec<Listed>,
    /// What the variables of general code, to which these offsets belong, can be in the new program.
    kinds: Option<Vec<VariableKind>>,
}

/// A variable that is copied.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Copied {
    /// Offsets.
    from: u32,
    to: u32,
    /// What handlers of the earlier program have added besides.
    sums: Option<Sums>,
    is_integer: bool,
    /// Which of the variables it is.
    number: usize,
}

/// Compares what a new program has with what the earlier one has.
pub fn plan(new: &Content, earlier: Option<&dyn Earlier>) -> Inheritance {
    let mut plan = Inheritance::default();
    let Some(earlier) = earlier else { return plan };
    let old = earlier.content();
    let is_there = |map: &str| earlier.map(map).is_some();
    tables(&mut plan, new, old, &is_there);
    unlisted(&mut plan, new, old);
    if new.general && old.general && earlier.arena().is_some() {
        plan.kinds = Some(new.kinds.clone());
        variables(&mut plan, new, old, true);
    } else if old.general || (new.general && !old.variables.is_empty()) {
        let form = |general| if general { "general code" } else { "expanded code" };
        plan.variables = vec![reset("(all)", form(old.general), form(new.general))];
    } else {
        variables(&mut plan, new, old, is_there(STATE));
    }
    plan.counts_go_on = new.programs == old.programs && is_there(VERDICTS);
    if new.sections.iter().any(|section| section == VERDICTS) && plan.counts_go_on {
        plan.maps.push((VERDICTS.to_string(), VERDICTS.to_string()));
    }
    plan
}

fn reset(name: &str, from: &str, to: &str) -> TableKept {
    TableKept::new(name, Kept::Reset { from: from.to_string(), to: to.to_string() })
}

fn tables(plan: &mut Inheritance, new: &Content, old: &Content, is_there: &dyn Fn(&str) -> bool) {
    for table in &new.tables {
        // Which is which of several tables of one name is not known.
        let is_unique = [&new.tables, &old.tables]
            .iter()
            .all(|tables| tables.iter().filter(|other| other.name == table.name).count() == 1);
        let same = |old: &Table| (&old.schema, &old.map) == (&table.schema, &table.map);
        let kept = match old.tables.iter().find(|old| old.name == table.name) {
            None => TableKept::new(&table.name, Kept::New),
            Some(_) if !is_unique => TableKept::new(&table.name, Kept::Ambiguous),
            Some(old) if same(old) && is_there(&old.map) => {
                plan.maps.push((table.map.clone(), old.map.clone()));
                TableKept::new(&table.name, Kept::Kept)
            }
            Some(old) => reset(&table.name, &old.schema, &table.schema),
        };
        plan.tables.push(kept);
    }
    let names = |content: &Content| content.tables.iter().map(|table| table.name.clone()).collect::<Vec<_>>();
    dropped(&mut plan.tables, &names(new), &names(old));
}

/// Finds what scripts list no more: what they list is what a map begins with, and entries that packets have made are no concern of theirs.
fn unlisted(plan: &mut Inheritance, new: &Content, old: &Content) {
    let none = BTreeSet::new();
    for kept in plan.tables.iter_mut().filter(|kept| kept.outcome == Kept::Kept) {
        let of = |content: &Content| content.listed.iter().find(|listed| listed.map == kept.name).cloned();
        let (before, after) = (of(old), of(new));
        let keys = after.as_ref().map_or(&none, |listed| &listed.keys);
        let known = before.as_ref().map_or(&none, |listed| &listed.keys);
        kept.added = keys.difference(known).count();
        let gone: BTreeSet<Vec<u8>> = known.difference(keys).cloned().collect();
        kept.removed = gone.len();
        if let Some(listed) = before.filter(|_| !gone.is_empty()) {
            plan.unlisted.push(Listed { keys: gone, ..listed });
        }
    }
}

/// Removes them, once the earlier program does not run any more. An element of an array, which stays, is as it begins.
///
/// # Errors
/// What the kernel refuses.
pub fn remove_unlisted(plan: &Inheritance, new: &Kernel) -> Result<(), SessionError> {
    for Listed { map, value_size, keys } in &plan.unlisted {
        for key in keys {
            if new.program.map_delete(map, key).is_err() {
                new.program.map_update(map, key, &vec![0; *value_size as usize])?;
            }
        }
    }
    Ok(())
}

fn dropped(kept: &mut Vec<TableKept>, new: &[String], old: &[String]) {
    let gone = old.iter().filter(|name| !new.contains(name));
    kept.extend(gone.map(|name| TableKept::new(name, Kept::Dropped)));
}

fn variables(plan: &mut Inheritance, new: &Content, old: &Content, is_there: bool) {
    let shared = is_there
        && !new.general
        && !new.variables.is_empty()
        && new.variables == old.variables
        && new.variables.iter().all(|variable| variable.portable);
    if shared {
        plan.maps.push((STATE.to_string(), STATE.to_string()));
    }
    let same = |old: &Variable, new: &Variable| {
        (&old.ty, old.size) == (&new.ty, new.size) && old.portable && new.portable
    };
    // Those of Moonhook's own Lua code have no names, and nobody knows them.
    for variable in new.variables.iter().filter(|variable| !variable.name.is_empty()) {
        let same_name = |old: &&Variable| old.name == variable.name;
        let is_unique = [&new.variables, &old.variables]
            .iter()
            .all(|variables| variables.iter().filter(same_name).count() < 2);
        let kept = match old.variables.iter().find(same_name) {
            None => TableKept::new(&variable.name, Kept::New),
            Some(_) if !is_unique && !shared => TableKept::new(&variable.name, Kept::Ambiguous),
            Some(old) if is_there && same(old, variable) => {
                if !shared {
                    let sums = old.sums.map(|(first, stride)| Sums { first, stride });
                    let is_integer = variable.ty == ir::Variable::INTEGER;
                    let number = plan.variables.len();
                    let (from, to) = (old.offset, variable.offset);
                    plan.copies.push(Copied { from, to, sums, is_integer, number });
                }
                TableKept::new(&variable.name, Kept::Kept)
            }
            Some(old) => reset(&variable.name, &old.ty, &variable.ty),
        };
        plan.variables.push(kept);
    }
    let names = |content: &Content| {
        let names = content.variables.iter().map(|variable| variable.name.clone());
        names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
    };
    dropped(&mut plan.variables, &names(new), &names(old));
}

/// The maps of the earlier program that the new one takes over, by their names in the new object.
pub fn maps<'a>(plan: &Inheritance, earlier: Option<&'a dyn Earlier>) -> Vec<(String, BorrowedFd<'a>)> {
    let Some(earlier) = earlier else { return Vec::new() };
    plan.maps.iter().filter_map(|(name, old)| Some((name.clone(), earlier.map(old)?))).collect()
}

/// An integer that was copied, and what it was then.
pub struct CopiedInteger {
    copied: Copied,
    value: u64,
}

/// The tag of a nil in expanded code.
const NIL: u64 = 0;

/// Copies variables, just before the programs are exchanged: what the earlier program assigns in between is lost, but for integers of expanded
/// code, which [`add_late`] brings up to date.
pub fn copy_variables(
    plan: &mut Inheritance,
    earlier: &dyn Earlier,
    new: &Kernel,
) -> Result<Vec<CopiedInteger>, SessionError> {
    if let Some(kinds) = plan.kinds.take() {
        copy_in_arenas(plan, &kinds, earlier, new);
        return Ok(Vec::new());
    }
    let Some(section) = earlier.map(STATE).filter(|_| !plan.copies.is_empty()) else { return Ok(Vec::new()) };
    let from = moonhook_install::section_bytes(section)?;
    let to = new.program.data_section(STATE)?;
    let word = |at: u32| Some(u64::from_ne_bytes(*from.get(at as usize..)?.first_chunk()?));
    let mut integers = Vec::new();
    for copied in &plan.copies {
        for at in (0..ir::Variable::SIZE).step_by(8).filter(|at| *at != ir::Variable::PAYLOAD) {
            word(copied.from + at).map(|word| to.store((copied.to + at) as usize, word));
        }
        let Some(mut value) = copied.payload(word) else { continue };
        // What is added to a nil is added to 0.
        if !copied.is_integer && word(copied.from) == Some(NIL) {
            value = 0;
        }
        to.store((copied.to + ir::Variable::PAYLOAD) as usize, value);
        if copied.is_integer {
            integers.push(CopiedInteger { copied: *copied, value });
        }
    }
    Ok(integers)
}

/// Adds to integers what the earlier program has added since they were copied: the programs of several hooks are not all exchanged at once.
pub fn add_late(integers: &[CopiedInteger], earlier: &dyn Earlier, new: &Kernel) -> Result<(), SessionError> {
    let Some(section) = earlier.map(STATE).filter(|_| !integers.is_empty()) else { return Ok(()) };
    let from = moonhook_install::section_bytes(section)?;
    let to = new.program.data_section(STATE)?;
    let word = |at: u32| Some(u64::from_ne_bytes(*from.get(at as usize..)?.first_chunk()?));
    for CopiedInteger { copied, value } in integers {
        let late = copied.payload(word).map_or(0, |now| now.wrapping_sub(*value));
        if late != 0 {
            to.add((copied.to + ir::Variable::PAYLOAD) as usize, late);
        }
    }
    Ok(())
}

impl Copied {
    /// The payload with all that was added to it, of the earlier program's section read word by word.
    fn payload(&self, word: impl Fn(u32) -> Option<u64>) -> Option<u64> {
        let added = self.sums.map_or(0, |sums| sums.added(|at| word(at as u32)));
        Some(word(self.from + ir::Variable::PAYLOAD)?.wrapping_add(added))
    }
}

/// Copies tags and payloads. What one program alone can have, functions and tables, and strings that the new one does not
/// have, stays as load time left it.
fn copy_in_arenas(plan: &mut Inheritance, kinds: &[VariableKind], earlier: &dyn Earlier, new: &Kernel) {
    let (Some(from), Some(to)) = (earlier.arena(), new.program.arena_section()) else { return };
    let integer = kinds.iter().find(|kind| kind.content == VariableContent::Integer).map(|kind| kind.payload);
    from.with(|from| {
        to.with(|to| {
            for Copied { from: old, to: new, number, .. } in &plan.copies {
                match translated(kinds, from, *old) {
                    Ok((kind, payload)) => {
                        to.store((new + kind.payload) as usize, payload);
                        to.store(*new as usize, kind.tag);
                        // What is added to a nil is added to 0.
                        if kind.content == VariableContent::Nil {
                            integer.map(|integer| to.store((new + integer) as usize, 0));
                        }
                    }
                    Err(what) => {
                        let variable = &mut plan.variables[*number];
                        *variable = reset(&variable.name, &what, "what the script gives it");
                    }
                }
            }
        })
    });
}

/// Kind and payload, for the new program, of what the earlier one has at an offset; or what that is, if the new one cannot have it.
fn translated<'k>(
    kinds: &'k [VariableKind],
    from: &DataSection<'_>,
    offset: u32,
) -> Result<(&'k VariableKind, u64), String> {
    let object = || "a table or a function".to_string();
    let tag = from.load(offset as usize).ok_or_else(object)?;
    let kind = kinds.iter().find(|kind| kind.tag == tag).ok_or_else(object)?;
    let payload = from.load((offset + kind.payload) as usize).ok_or_else(object)?;
    let texts = match &kind.content {
        VariableContent::Texts(texts) => texts,
        VariableContent::Objects(_) => return Err(object()),
        _ => return Ok((kind, payload)),
    };
    let (start, length) = (payload as u32 as usize, (payload >> 32) as usize);
    let text = from.part(start..start + length).unwrap_or_default();
    match texts.get(&text) {
        Some(payload) => Ok((kind, *payload)),
        None => Err(format!("the string '{}', which the script does not have", text.escape_ascii())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_install::ArenaSection;
    use std::os::fd::AsFd;

    struct Old {
        content: Content,
        file: std::fs::File,
        missing: &'static str,
    }

    impl Earlier for Old {
        fn content(&self) -> &Content {
            &self.content
        }

        fn map(&self, name: &str) -> Option<BorrowedFd<'_>> {
            (name != self.missing).then(|| self.file.as_fd())
        }

        fn arena(&self) -> Option<ArenaSection> {
            None
        }
    }

    fn content(tables: &[(&str, &str)], variables: &[(&str, &str)]) -> Content {
        let table = |(name, schema): &(&str, &str)| Table {
            name: name.to_string(),
            schema: schema.to_string(),
            map: format!("map_{name}"),
        };
        let variable = |(index, (name, ty)): (usize, &(&str, &str))| Variable {
            name: name.to_string(),
            offset: index as u32 * ir::Variable::SIZE,
            ty: ty.to_string(),
            portable: *ty != "string",
            sums: None,
            is_summed: false,
            size: ir::Variable::SIZE,
        };
        Content {
            tables: tables.iter().map(table).collect(),
            variables: variables.iter().enumerate().map(variable).collect(),
            general: false,
            kinds: Vec::new(),
            sections: vec![VERDICTS.to_string()],
            programs: Vec::new(),
            listed: Vec::new(),
        }
    }

    fn planned(new: &Content, old: Content, missing: &'static str) -> Inheritance {
        let old = Old { content: old, file: std::fs::File::open("/dev/null").unwrap(), missing };
        plan(new, Some(&old))
    }

    fn outcomes(kept: &[TableKept]) -> Vec<(&str, &str)> {
        let outcome = |kept: &TableKept| match kept.outcome {
            Kept::Kept => "kept",
            Kept::Reset { .. } => "reset",
            Kept::New => "new",
            Kept::Dropped => "dropped",
            Kept::Ambiguous => "ambiguous",
        };
        kept.iter().map(|kept| (kept.name.as_str(), outcome(kept))).collect()
    }

    #[test]
    fn tables_of_the_same_name_and_schema_are_kept() {
        let old = content(&[("a", "int → int"), ("b", "int → int"), ("c", "int → int")], &[]);
        let new = content(&[("b", "int → int"), ("a", "ip → int"), ("d", "int → int")], &[]);
        let plan = planned(&new, old.clone(), "");
        assert_eq!(outcomes(&plan.tables), [("b", "kept"), ("a", "reset"), ("d", "new"), ("c", "dropped")]);
        assert_eq!(plan.maps[0], ("map_b".to_string(), "map_b".to_string()));
        assert_eq!(outcomes(&planned(&new, old.clone(), "map_b").tables)[0], ("b", "reset"));
        let twice = content(&[("b", "int → int"), ("b", "int → int")], &[]);
        assert_eq!(outcomes(&planned(&twice, old, "").tables)[..2], [("b", "ambiguous"), ("b", "ambiguous")]);
    }

    #[test]
    fn entries_that_scripts_list_no_more_go() {
        let listing = |keys: &[u8]| {
            let keys = keys.iter().map(|key| vec![*key]).collect();
            let listed = vec![Listed { map: "a".into(), value_size: 4, keys }];
            let table = Table { name: "a".into(), schema: "x".into(), map: "a".into() };
            Content { listed, tables: vec![table], ..content(&[], &[]) }
        };
        let plan = planned(&listing(&[1, 2]), listing(&[2, 3, 4]), "");
        assert_eq!((plan.tables[0].added, plan.tables[0].removed), (1, 2));
        assert_eq!(plan.unlisted[0].keys, BTreeSet::from([vec![3], vec![4]]));
        let none = Content { listed: Vec::new(), ..listing(&[]) };
        assert_eq!(planned(&none, listing(&[2]), "").tables[0].removed, 1);
        assert_eq!(planned(&listing(&[2]), none, "").tables[0].added, 1);
    }

    #[test]
    fn variables_are_shared_or_copied() {
        let same = content(&[], &[("n", "integer"), ("m", "boolean")]);
        let plan = planned(&same, same.clone(), "");
        assert_eq!((outcomes(&plan.variables).len(), plan.copies.len(), plan.maps.len()), (2, 0, 2));
        let old = content(&[], &[("x", "integer"), ("n", "integer"), ("s", "string"), ("m", "integer")]);
        let new = content(&[], &[("n", "integer"), ("m", "boolean"), ("s", "string"), ("y", "nil")]);
        let plan = planned(&new, old.clone(), "");
        let expected = [("n", "kept"), ("m", "reset"), ("s", "reset"), ("y", "new"), ("x", "dropped")];
        assert_eq!(outcomes(&plan.variables), expected);
        assert_eq!(
            (&plan.copies[..], plan.maps.len()),
            (&[Copied { from: ir::Variable::SIZE, to: 0, sums: None, is_integer: true, number: 0 }][..], 1)
        );
        assert_eq!(outcomes(&planned(&new, old, STATE).variables)[0], ("n", "reset"));
    }

    /// One of several cannot be told from the others, unless all are where they were.
    #[test]
    fn variables_of_one_name_are_not_mixed_up() {
        let old = content(&[], &[("n", "integer"), ("n", "integer")]);
        assert_eq!(outcomes(&planned(&old, old.clone(), "").variables), [("n", "kept"), ("n", "kept")]);
        let new = content(&[], &[("m", "integer"), ("n", "integer"), ("n", "integer")]);
        let plan = planned(&new, old, "");
        assert_eq!(outcomes(&plan.variables), [("m", "new"), ("n", "ambiguous"), ("n", "ambiguous")]);
        assert!(plan.copies.is_empty());
    }

    #[test]
    fn variables_of_general_code_are_reset() {
        let expanded = content(&[], &[("n", "integer")]);
        let general = Content { general: true, ..content(&[], &[]) };
        for (new, old) in [(&expanded, &general), (&general, &expanded), (&general, &general)] {
            assert_eq!(outcomes(&planned(new, old.clone(), "").variables), [("(all)", "reset")]);
        }
    }
}
