//! What values flow where: places that hold values, edges between them, and rules that look at the objects in a place.
//!
//! The inclusion graph of a points-to analysis after Andersen: what a place holds only ever grows, along edges that only ever
//! become more, so that working through what has changed comes to an end.

use moonhook_ir::Loc;
use moonhook_snapshot::{CellId, TableId};
use moonhook_specialise::shared::{Seen, SeenType};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// Steps after which nothing more is found out: circles of many functions with many arguments could take long.
const PATIENCE: usize = 2_000_000;

pub type Node = usize;

/// What can be told from others of its type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Object {
    Owner(Owner),
    /// A function of the script, by number.
    Function(usize),
    /// A library function or method, by the number of the last part of its name.
    Named(usize),
}

/// A table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Owner {
    LoadTime(TableId),
    /// What the instruction `pc` of a function makes.
    Made {
        function: usize,
        pc: usize,
    },
}

/// What may be in a place. Of plain values only their kinds are here: records follow from tables.
#[derive(Clone, Debug, Default)]
pub struct Held {
    pub seen: Seen,
    pub objects: BTreeSet<Object>,
    /// It may be nil, which tells nothing, but is no sign that something was not found out.
    pub nil: bool,
}

impl Held {
    pub fn nil() -> Held {
        Held { nil: true, ..Held::default() }
    }

    /// Whether nothing is known but that it may be nil.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.objects.is_empty()
    }

    pub fn owners(&self) -> impl Iterator<Item = Owner> {
        self.objects.iter().filter_map(|object| match object {
            Object::Owner(owner) => Some(*owner),
            _ => None,
        })
    }

    /// What is left of it where it is nil or false.
    fn falsy(&self) -> Held {
        let nil = self.nil || !self.is_empty();
        let seen = self.seen.kinds().filter(|kind| matches!(kind, SeenType::Boolean | SeenType::Unknown));
        Held { seen: seen.fold(Seen::default(), Seen::with), nil, ..Held::default() }
    }

    fn add(&mut self, other: &Held) -> bool {
        let before = (self.objects.len(), self.nil);
        self.objects.extend(&other.objects);
        self.nil |= other.nil;
        self.seen.add(&other.seen) || (self.objects.len(), self.nil) != before
    }
}

impl From<Seen> for Held {
    fn from(seen: Seen) -> Held {
        Held { seen, ..Held::default() }
    }
}

impl From<SeenType> for Held {
    fn from(kind: SeenType) -> Held {
        Seen::kind(kind).into()
    }
}

impl From<Object> for Held {
    fn from(object: Object) -> Held {
        Held { objects: BTreeSet::from([object]), ..Held::default() }
    }
}

/// A place that values are in, by what it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// What an instruction puts into a register.
    Set { function: usize, pc: usize, register: usize },
    /// A captured variable that an instruction reads: what was put into the register, or assigned elsewhere.
    Variable { function: usize, pc: usize, register: usize },
    /// A register where paths meet at the beginning of a block.
    Meeting { function: usize, block: usize, register: usize },
    /// A register when the function begins.
    Parameter { function: usize, register: usize },
    /// The arguments beyond the parameters.
    Extra { function: usize },
    /// A result of the function, from 0.
    Result { function: usize, number: usize },
    /// Results of the function that are not told apart: `OPEN - 1` and later ones.
    Rest { function: usize },
    /// A variable of load time.
    Cell(CellId),
    /// A register that functions made inside of the function have as a variable, from the instruction on that declares it.
    Captured { function: usize, register: usize, from: usize },
    /// What a table has under a name.
    Field(Owner, Rc<str>),
    /// What a table has under keys that are no names.
    Others(Owner),
    /// Everything that a table has.
    All(Owner),
    /// The keys that are assigned, but for constant names.
    Keys(Owner),
    /// The metatables of a table.
    Metatable(Owner),
    /// What they have under a name.
    Event(Owner, Rc<str>),
    /// Whatever is in the tables of a place.
    Element(Node),
    /// The table.
    Itself(Owner),
    /// What an upvalue of a function is.
    Upvalue { function: usize, upvalue: usize },
    /// A constant of a function.
    Literal { function: usize, number: usize },
    /// A value of that kind.
    Constant(SeenType),
    /// What a place holds where it is nil or false.
    Falsy(Node),
    /// What `redirect` is called with.
    Targets,
    /// What is put in front of packets (`pkt.meta`).
    Notes,
    /// What the field `group` of that is.
    Groups,
}

/// The result with a number, from 0, or it and all later ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Which {
    pub number: usize,
    pub rest: bool,
}

impl Which {
    pub fn only(number: usize) -> Which {
        Which { number, rest: false }
    }
}

/// What is done with each object that comes into a place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// The place is a table of which `name`, or any key, is read.
    Read {
        name: Option<Rc<str>>,
        to: Node,
    },
    Write {
        name: Option<Rc<str>>,
        key: Option<Node>,
        value: Node,
    },
    /// The place is the function that an instruction calls: what it is called with, arguments from register `first` on.
    Arguments {
        function: usize,
        pc: usize,
        first: usize,
    },
    /// A result of the function in the place, called by that instruction.
    Result {
        function: usize,
        pc: usize,
        first: usize,
        which: Which,
        to: Node,
    },
    /// The place is a function that somebody calls with these values, of which the last one may stand for more of them.
    Given {
        values: Vec<Node>,
        open: bool,
    },
    /// The place is a table whose keys are wanted.
    Key {
        to: Node,
    },
    /// The place is a table that is assigned by key there.
    Assigned {
        function: usize,
        loc: Loc,
    },
    /// The place is a function of which a result is used, whoever calls it with what.
    Returned {
        which: Which,
        to: Node,
    },
    /// The place is an operand, and its metatable's function for the event gives the result.
    Operand {
        event: &'static str,
        operands: [Node; 2],
        to: Node,
    },
    /// Its tables' metatables come.
    Metatable {
        to: Node,
    },
    /// The place is what `setmetatable` gets.
    SetMetatable {
        metatable: Node,
    },
}

#[derive(Default)]
pub struct Graph {
    held: Vec<Held>,
    numbers: HashMap<Place, Node>,
    edges: HashSet<(Node, Node)>,
    successors: Vec<Vec<Node>>,
    /// By node, the place of what it holds where it is nil or false, if that is asked for.
    falsy: Vec<Option<Node>>,
    rules: HashSet<(Node, Rule)>,
    watchers: Vec<Vec<Rule>>,
    work: VecDeque<Node>,
    waits: Vec<bool>,
    steps: usize,
}

impl Graph {
    /// The node of a place, and whether it is new.
    pub fn node(&mut self, place: Place) -> (Node, bool) {
        if let Some(known) = self.numbers.get(&place) {
            return (*known, false);
        }
        let node = self.held.len();
        self.numbers.insert(place, node);
        self.held.push(Held::default());
        self.successors.push(Vec::new());
        self.falsy.push(None);
        self.watchers.push(Vec::new());
        self.waits.push(false);
        (node, true)
    }

    pub fn known(&self, place: &Place) -> Option<Node> {
        self.numbers.get(place).copied()
    }

    pub fn held(&self, node: Node) -> &Held {
        &self.held[node]
    }

    pub fn give(&mut self, node: Node, held: &Held) {
        self.give_more(node, held);
    }

    /// As [`Graph::give`]; says whether that is something new.
    pub fn give_more(&mut self, node: Node, held: &Held) -> bool {
        let new = self.held[node].add(held);
        if new {
            self.wake(node);
        }
        new
    }

    /// Whatever is in the first place is in the second one, too.
    pub fn flow(&mut self, from: Node, to: Node) {
        if from != to && self.edges.insert((from, to)) {
            self.successors[from].push(to);
            let held = self.held[from].clone();
            self.give(to, &held);
        }
    }

    /// The place of what a place holds where it is nil or false.
    pub fn falsy(&mut self, node: Node) -> Node {
        let (falsy, new) = self.node(Place::Falsy(node));
        if new {
            self.falsy[node] = Some(falsy);
            let held = self.held[node].falsy();
            self.give(falsy, &held);
        }
        falsy
    }

    /// From now on, a rule looks at what comes into the place.
    pub fn watch(&mut self, node: Node, rule: Rule) {
        if self.rules.insert((node, rule.clone())) {
            self.watchers[node].push(rule);
            self.wake(node);
        }
    }

    fn wake(&mut self, node: Node) {
        if !std::mem::replace(&mut self.waits[node], true) {
            self.work.push_back(node);
        }
    }

    /// Lets what has changed flow on; gives a place whose rules have to look again, or nothing if all is done.
    pub fn step(&mut self) -> Option<(Node, Vec<Rule>)> {
        loop {
            let node = self.work.pop_front()?;
            self.waits[node] = false;
            self.steps += 1 + self.successors[node].len();
            if self.steps > PATIENCE {
                return None;
            }
            let held = self.held[node].clone();
            for to in self.successors[node].clone() {
                self.give(to, &held);
            }
            if let Some(falsy) = self.falsy[node] {
                self.give(falsy, &held.falsy());
            }
            if !self.watchers[node].is_empty() {
                return Some((node, self.watchers[node].clone()));
            }
        }
    }
}
