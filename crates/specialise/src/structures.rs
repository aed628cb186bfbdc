//! The kernel's structures that values of a script can be in general code, where a value says its type: what its tracepoints hand over under
//! the names that the script mentions, and what fields of these names lead to from there.

use moonhook_btf::{Content, TypeId, Types};
use moonhook_snapshot::Snapshot;

/// The field of events that is the structure of the thread that runs.
pub const TASK: &str = "task";

/// The structure that stands for a thread.
pub fn task_type(types: &Types) -> Option<TypeId> {
    types.structure("task_struct")
}

/// Types of structures and arrays; their numbers are their places here.
#[derive(Clone, Debug, Default)]
pub struct Structures(Vec<TypeId>);

impl Structures {
    /// Of a script that mentions the names for which `is_mentioned` holds.
    pub fn new(snapshot: &Snapshot, is_mentioned: impl Fn(&str) -> bool) -> Structures {
        let mut found = Structures::default();
        let Some(types) = snapshot.traced.types() else { return found };
        if is_mentioned(TASK)
            && let Some(task) = task_type(types)
        {
            found.add(Content::Structure(task));
        }
        for event in snapshot.points().iter().filter_map(|point| snapshot.traced.event(point)) {
            let arguments = event.arguments.iter().filter(|argument| is_mentioned(&argument.name));
            arguments.for_each(|argument| found.add(argument.content));
        }
        let mut next = 0;
        while let Some(id) = found.0.get(next).copied() {
            next += 1;
            match types.element(id) {
                Some(element) => found.add(element),
                None => {
                    let fields = types.fields(id).into_iter().filter(|field| is_mentioned(field.name));
                    fields.for_each(|field| found.add(field.content));
                }
            }
        }
        found
    }

    fn add(&mut self, content: Content) {
        if let Content::Structure(id) | Content::Part(id) = content
            && !self.0.contains(&id)
        {
            self.0.push(id);
        }
    }

    /// All of them, with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (i64, TypeId)> {
        (0..).zip(self.0.iter().copied())
    }

    pub fn number(&self, id: TypeId) -> Option<i64> {
        self.all().find(|(_, known)| *known == id).map(|(number, _)| number)
    }

    /// Those that have a field of that name.
    pub fn with_field(&self, types: &Types, name: &str) -> Vec<(i64, TypeId)> {
        self.all().filter(|(_, id)| types.field(*id, name).is_some()).collect()
    }

    /// Those that are arrays.
    pub fn arrays(&self, types: &Types) -> Vec<(i64, TypeId)> {
        self.all().filter(|(_, id)| types.element(*id).is_some()).collect()
    }
}
