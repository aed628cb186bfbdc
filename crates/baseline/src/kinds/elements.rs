//! What is in tables: fields under constant names, and everything else together.

use super::Kinds;
use super::graph::{Held, Node, Object, Owner, Place, Rule, Which};
use moonhook_library::method;
use moonhook_snapshot::{TableId, Value};
use moonhook_specialise::objects;
use moonhook_specialise::shared::{Seen, SeenType};
use std::rc::Rc;

const INDEX: &str = "__index";

impl Kinds<'_, '_> {
    /// A value of load time.
    pub(super) fn of_value(&mut self, value: &Value) -> Held {
        match value {
            Value::Table(table) => Object::Owner(Owner::LoadTime(*table)).into(),
            Value::Closure(closure) => {
                let prototype = self.functions.snapshot.closure(*closure).prototype;
                Object::Function(prototype.index()).into()
            }
            Value::Builtin(name) => self.named(name).into(),
            Value::Nil => Held::nil(),
            value => Seen::of_value(self.functions.snapshot, value).unwrap_or_default().into(),
        }
    }

    /// `owner[name]`, or what is under any key.
    pub(super) fn read(&mut self, owner: Object, name: Option<&Rc<str>>, to: Node) {
        let Object::Owner(owner) = owner else { return };
        let from = match name {
            Some(name) => self.field(owner, name),
            None => self.all(owner),
        };
        self.graph.flow(from, to);
        self.later.inherited.insert((owner, name.cloned(), to));
    }

    pub(super) fn write(&mut self, owner: Object, name: Option<&Rc<str>>, key: Option<Node>, value: Node) {
        let Object::Owner(owner) = owner else { return };
        let to = match name {
            Some(name) => {
                self.fields.entry(owner).or_default().insert(name.clone());
                self.field(owner, name)
            }
            None => self.others(owner),
        };
        self.graph.flow(value, to);
        let keys = self.keys(owner);
        match (name, key) {
            (Some(name), _) => self.graph.give(keys, &Seen::constant(name.as_bytes()).into()),
            (None, Some(key)) => self.graph.flow(key, keys),
            (None, None) => {}
        }
    }

    /// What a table has under a name: what it has from load time, and what is assigned under names that are not known.
    fn field(&mut self, owner: Owner, name: &Rc<str>) -> Node {
        let (node, new) = self.graph.node(Place::Field(owner, name.clone()));
        if new {
            if let Some(value) = self.at_load_time(owner, name) {
                let held = self.of_value(&value);
                self.graph.give(node, &held);
            }
            let (others, all) = (self.others(owner), self.all(owner));
            self.graph.flow(others, node);
            self.graph.flow(node, all);
        }
        node
    }

    fn others(&mut self, owner: Owner) -> Node {
        self.place(Place::Others(owner))
    }

    /// Everything that a table has.
    pub(super) fn all(&mut self, owner: Owner) -> Node {
        let (node, new) = self.graph.node(Place::All(owner));
        if new {
            let others = self.others(owner);
            self.graph.flow(others, node);
            for (_, value) in self.entries_at_load_time(owner) {
                let held = self.of_value(&value);
                self.graph.give(node, &held);
            }
            for name in self.fields.get(&owner).cloned().unwrap_or_default() {
                let field = self.field(owner, &name);
                self.graph.flow(field, node);
            }
        }
        node
    }

    /// The keys of a table.
    pub(super) fn keys(&mut self, owner: Owner) -> Node {
        let (node, new) = self.graph.node(Place::Keys(owner));
        if new {
            for (key, _) in self.entries_at_load_time(owner) {
                let held = self.of_value(&key);
                self.graph.give(node, &held);
            }
        }
        node
    }

    fn entries_at_load_time(&self, owner: Owner) -> Vec<(Value, Value)> {
        let Owner::LoadTime(table) = owner else { return Vec::new() };
        let table = self.functions.snapshot.table(table);
        let array = table.array.iter().enumerate().map(|(i, v)| (Value::Integer(i as i64 + 1), v.clone()));
        array.chain(table.entries.iter().cloned()).collect()
    }

    fn at_load_time(&self, owner: Owner, name: &str) -> Option<Value> {
        let Owner::LoadTime(table) = owner else { return None };
        let table = self.functions.snapshot.table(table);
        let place = name.parse::<usize>().ok().and_then(|place| table.array.get(place.checked_sub(1)?));
        place.or_else(|| table.field(name.as_bytes())).cloned()
    }

    /// The metatables that a table may have.
    pub(super) fn metatable(&mut self, owner: Owner) -> Node {
        let (node, new) = self.graph.node(Place::Metatable(owner));
        if let (true, Owner::LoadTime(table)) = (new, owner)
            && let Some(meta) = self.metatable_at_load_time(table)
        {
            self.graph.give(node, &Object::Owner(Owner::LoadTime(meta)).into());
        }
        node
    }

    fn metatable_at_load_time(&self, table: TableId) -> Option<TableId> {
        self.functions.snapshot.table(table).metatable
    }

    /// Fields of owners that have turned out to be no tables: of headers, or methods. Says whether that is new.
    pub(super) fn fields_of_others(&mut self) -> bool {
        let mut new = false;
        for (owner, name, to) in std::mem::take(&mut self.later.fields) {
            if self.graph.held(owner).owners().next().is_some() {
                self.later.fields.push((owner, name, to));
                continue;
            }
            let mut held = Held::from(self.of_header(&name));
            if let Some(method) = method(&name).filter(|method| method.kind().is_some()) {
                held.objects.insert(self.named(method.name));
            }
            self.graph.give(to, &held);
            self.read_of_note(&name, to);
            new = true;
        }
        new
    }

    /// Fields that tables have not, but those behind `__index`. Says whether there are new ones.
    pub(super) fn inherited_fields(&mut self) -> bool {
        let mut new = false;
        for (owner, name, to) in std::mem::take(&mut self.later.inherited) {
            let own = match &name {
                Some(name) => self.field(owner, name),
                None => self.all(owner),
            };
            if !self.graph.held(own).is_empty() {
                self.later.inherited.insert((owner, name, to));
                continue;
            }
            let behind = self.of_metatable(owner, INDEX);
            self.graph.watch(behind, Rule::Read { name, to });
            self.graph.watch(behind, Rule::Returned { which: Which::only(0), to });
            new = true;
        }
        new
    }

    /// What the metatables of a table have under a name.
    pub(super) fn of_metatable(&mut self, owner: Owner, event: &str) -> Node {
        let metatable = self.metatable(owner);
        let (found, new) = self.graph.node(Place::Event(owner, event.into()));
        if new {
            self.graph.watch(metatable, Rule::Read { name: Some(event.into()), to: found });
        }
        found
    }

    /// What headers, events and structures have under a name.
    fn of_header(&mut self, name: &Rc<str>) -> Seen {
        if !self.headers.contains_key(name) {
            let seen = objects::kinds_of(self.functions.snapshot, self.options, self.structures, name);
            self.headers.insert(name.clone(), seen);
        }
        self.headers[name].clone()
    }

    /// A constant that does not change.
    pub(super) fn constant(&mut self, kind: SeenType) -> Node {
        let (node, new) = self.graph.node(Place::Constant(kind));
        if new {
            self.graph.give(node, &kind.into());
        }
        node
    }
}
