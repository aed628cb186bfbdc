//! What is looked up of a prototype again and again: which local variable a register is, what jumps over an instruction, and what sets a
//! register.
//!
//! Made when it is first asked for. Says nothing that the prototype itself does not say: two prototypes are equal whether or not
//! they were asked.

use crate::instruction::{Instruction, Opcode};
use crate::{LocalVariable, Prototype, flow};
use std::ops::Range;
use std::sync::OnceLock;

#[derive(Debug, Default)]
pub struct Lookup(OnceLock<Found>);

#[derive(Debug)]
struct Found {
    /// By register, the numbers of the local variables that it is, in their order.
    locals: Vec<Vec<u32>>,
    /// By instruction, the first jump that leads there.
    jumps: Vec<u32>,
    /// A tree over them: the least of nodes 2n and 2n + 1 is at n, and the first instruction's is in the middle.
    least_jumps: Vec<u32>,
    /// By register, the instructions that set it; each list is made when it is first asked for.
    setters: Vec<OnceLock<Vec<u32>>>,
    /// The same, of those that may change it.
    changes: Vec<OnceLock<Vec<u32>>>,
    /// What leads elsewhere than to the next instruction; made when it is first asked for.
    edges: OnceLock<Edges>,
}

/// Trees as [`Found::least_jumps`], over all instructions that lead elsewhere than to the next one.
#[derive(Debug)]
struct Edges {
    first: Vec<u32>,
    /// The complements of the last ones.
    last: Vec<u32>,
}

/// Registers that instructions can name.
const REGISTERS: usize = 256;

/// In [`Found::jumps`]: none.
const NONE: u32 = u32::MAX;

impl Clone for Lookup {
    fn clone(&self) -> Lookup {
        Lookup::default()
    }
}

impl PartialEq for Lookup {
    fn eq(&self, _: &Lookup) -> bool {
        true
    }
}

impl Prototype {
    /// The local variable in `register` that is active at `pc`.
    pub fn local(&self, register: usize, pc: usize) -> Option<&LocalVariable> {
        let of_register = self.found().locals.get(register)?;
        let begun = of_register.partition_point(|local| self.locals[*local as usize].start_pc as usize <= pc);
        let last = &self.locals[*of_register.get(begun.checked_sub(1)?)? as usize];
        (pc < last.end_pc as usize).then_some(last)
    }

    /// The first instruction that jumps (`OP_JMP`) to the one at `pc`.
    pub fn first_jump_to(&self, pc: usize) -> Option<usize> {
        self.found().jumps.get(pc).filter(|jump| **jump != NONE).map(|jump| *jump as usize)
    }

    /// The last instruction before the one at `pc` that sets the register.
    pub fn last_setter(&self, pc: usize, register: usize) -> Option<usize> {
        let setters = self.found().setters.get(register)?.get_or_init(|| self.find_setters(register));
        let before = setters.partition_point(|setter| (*setter as usize) < pc);
        Some(setters[before.checked_sub(1)?] as usize)
    }

    /// The only instruction that can have set what the register holds before the one at `pc`, on whichever path and in whichever turn
    /// of a loop. A function made here may assign the register, too, if it is its variable: that is for the caller to see to.
    pub fn only_setter(&self, pc: usize, register: usize) -> Option<usize> {
        let changes = self.found().changes.get(register)?.get_or_init(|| {
            let may = |pc: &u32| Instruction(self.code[*pc as usize]).changes().contains(&register);
            (0..self.code.len() as u32).filter(may).collect()
        });
        let next = changes.partition_point(|setter| (*setter as usize) < pc);
        let setter = changes[next.checked_sub(1)?] as usize;
        let limit = changes.get(next).map_or(self.code.len(), |setter| *setter as usize);
        // What leads to the instructions behind the setter must come from there: more and more of them, as loops end later.
        let edges = self.found().edges.get_or_init(|| self.find_edges());
        let mut end = pc;
        loop {
            let first = least(&edges.first, setter + 1, end);
            if first.is_some_and(|from| (from as usize) < setter) {
                return None;
            }
            let last = least(&edges.last, setter + 1, end).map_or(0, |from| !from as usize);
            if last >= limit {
                return None;
            }
            if last <= end {
                return Some(setter);
            }
            end = last;
        }
    }

    /// The instructions during which the variable lives that is in a register when the instruction at `pc` is done: all of the code
    /// where the debug information does not tell. The instruction before them sets it.
    pub fn life(&self, pc: usize, register: usize) -> Range<usize> {
        let life = |local: &LocalVariable| local.start_pc as usize..local.end_pc as usize;
        self.local(register, pc + 1).map_or(0..self.code.len(), life)
    }

    /// The first of all jumps that lead to instructions from `first` to `last`.
    pub fn first_jump_into(&self, first: usize, last: usize) -> Option<usize> {
        least(&self.found().least_jumps, first, last).map(|from| from as usize)
    }

    fn found(&self) -> &Found {
        self.lookup.0.get_or_init(|| {
            let jumps = self.find_jumps();
            let setters = (0..REGISTERS).map(|_| OnceLock::new()).collect();
            let changes = (0..REGISTERS).map(|_| OnceLock::new()).collect();
            let (locals, edges) = (self.find_locals(), OnceLock::new());
            Found { locals, least_jumps: tree(&jumps), jumps, setters, changes, edges }
        })
    }

    fn find_setters(&self, register: usize) -> Vec<u32> {
        let sets = |pc: &u32| Instruction(self.code[*pc as usize]).sets(register);
        (0..self.code.len() as u32).filter(sets).collect()
    }

    /// A variable is in the register that has the number of those that are active when it begins: scopes are nested, so what
    /// begins before it and is active then is active as long as it is (`luaF_getlocalname`).
    fn find_locals(&self) -> Vec<Vec<u32>> {
        let mut registers: Vec<Vec<u32>> = Vec::new();
        let mut active: Vec<u32> = Vec::new();
        for (number, local) in self.locals.iter().enumerate() {
            while active.last().is_some_and(|end| *end <= local.start_pc) {
                active.pop();
            }
            if local.end_pc > local.start_pc {
                let register = active.len();
                if registers.len() <= register {
                    registers.resize(register + 1, Vec::new());
                }
                registers[register].push(number as u32);
                active.push(local.end_pc);
            }
        }
        registers
    }

    fn find_edges(&self) -> Edges {
        let (mut first, mut last) = (vec![NONE; self.code.len()], vec![NONE; self.code.len()]);
        for pc in 0..self.code.len() {
            for target in flow::successors(&self.code, pc) {
                if target != pc + 1 && target < self.code.len() {
                    first[target] = first[target].min(pc as u32);
                    last[target] = last[target].min(!(pc as u32));
                }
            }
        }
        Edges { first: tree(&first), last: tree(&last) }
    }

    fn find_jumps(&self) -> Vec<u32> {
        let mut jumps = vec![NONE; self.code.len()];
        for (pc, code) in self.code.iter().enumerate().rev() {
            let i = Instruction(*code);
            if i.opcode() == Some(Opcode::Jmp)
                && let Ok(target) = usize::try_from(pc as i64 + 1 + i.sj())
                && let Some(first) = jumps.get_mut(target)
            {
                *first = pc as u32;
            }
        }
        jumps
    }
}

/// The least of the leaves from `first` to `last` of a tree.
fn least(tree: &[u32], first: usize, last: usize) -> Option<u32> {
    let leaves = tree.len() / 2;
    let (mut low, mut high) = (first.min(leaves) + leaves, (last + 1).min(leaves) + leaves);
    let mut least = NONE;
    while low < high {
        if low % 2 == 1 {
            least = least.min(tree[low]);
            low += 1;
        }
        if high % 2 == 1 {
            high -= 1;
            least = least.min(tree[high]);
        }
        (low, high) = (low / 2, high / 2);
    }
    (least != NONE).then_some(least)
}

fn tree(leaves: &[u32]) -> Vec<u32> {
    let mut tree = vec![NONE; leaves.len()];
    tree.extend(leaves);
    for node in (1..leaves.len()).rev() {
        tree[node] = tree[2 * node].min(tree[2 * node + 1]);
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn jumps_into_a_range_are_those_that_a_search_finds() {
        let jump = |by: i32| Opcode::Jmp as u32 | ((by + 0xff_ffff) as u32) << 7;
        let other = Opcode::Move as u32;
        let code = vec![other, other, jump(2), other, jump(-4), jump(0), other];
        let jumps = [(1, 4), (5, 2), (6, 5)];
        let prototype = Prototype { code: code.clone(), ..Prototype::default() };
        for first in 0..code.len() {
            for last in 0..code.len() + 2 {
                let within = jumps.iter().filter(|(to, _)| (first..=last).contains(to));
                let expected = within.map(|(_, from)| *from).min();
                assert_eq!(prototype.first_jump_into(first, last), expected, "from {first} to {last}");
            }
        }
    }

    /// All instructions whose values of register 0 come to the one at `pc`; `None` is the function's start.
    fn reaching(code: &[u32], pc: usize) -> BTreeSet<Option<usize>> {
        let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
        let mut work = vec![(0, None)];
        while let Some((at, set)) = work.pop() {
            if at >= code.len() || !seen.insert((at, set)) {
                continue;
            }
            if at == pc {
                found.insert(set);
            }
            let set = if Instruction(code[at]).changes().contains(&0) { Some(at) } else { set };
            work.extend(flow::successors(code, at).into_iter().map(|to| (to, set)));
        }
        found
    }

    #[test]
    fn an_only_setter_is_the_only_one() {
        let jump = |by: i64| Opcode::Jmp as u32 | ((by + 0xff_ffff) as u32) << 7;
        let mut state = 1_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut sure = 0;
        for _ in 0..3000 {
            let length = 4 + below(8) as usize;
            let word = |pc: usize, kind: u64, to: u64| match kind {
                0 => Opcode::LoadTrue as u32,
                1 => jump(to as i64 - pc as i64 - 1),
                2 => Opcode::ForLoop as u32 | (to.min(pc as u64) as u32) << 15,
                3 => Opcode::Test as u32 | 9 << 7,
                _ => Opcode::LoadTrue as u32 | 9 << 7,
            };
            let mut code: Vec<u32> = (0..length).map(|pc| word(pc, below(7), below(length as u64))).collect();
            // A jump is behind each test.
            for pc in 1..length {
                if Instruction(code[pc - 1]).opcode() == Some(Opcode::Test) {
                    code[pc] = jump(below(length as u64) as i64 - pc as i64 - 1);
                }
            }
            code.extend([jump(0), Opcode::Return0 as u32]);
            let prototype = Prototype { code: code.clone(), ..Prototype::default() };
            for pc in 0..code.len() {
                let reaching = reaching(&code, pc);
                if let (Some(setter), false) = (prototype.only_setter(pc, 0), reaching.is_empty()) {
                    assert_eq!(reaching, BTreeSet::from([Some(setter)]), "at {pc} of {code:x?}");
                    sure += 1;
                }
            }
        }
        assert!(sure > 2000, "{sure}");
    }

    #[test]
    fn a_register_is_set_by_the_last_instruction_that_does() {
        let word = |opcode: Opcode, a: u32| opcode as u32 | a << 7;
        let code = vec![
            word(Opcode::LoadTrue, 3),
            word(Opcode::Call, 2),
            word(Opcode::SetUpval, 3),
            word(Opcode::LoadTrue, 3),
        ];
        let prototype = Prototype { code, ..Prototype::default() };
        let found: Vec<_> = (0..5).map(|pc| prototype.last_setter(pc, 3)).collect();
        assert_eq!(found, [None, Some(0), Some(1), Some(1), Some(3)]);
        assert_eq!((prototype.last_setter(4, 1), prototype.last_setter(4, 255)), (None, Some(1)));
    }

    #[test]
    fn a_register_is_what_is_active() {
        let local = |name: &str, start_pc, end_pc| LocalVariable { name: name.into(), start_pc, end_pc };
        let locals =
            vec![local("a", 0, 20), local("b", 2, 6), local("c", 3, 6), local("d", 7, 9), local("e", 9, 20)];
        let prototype = Prototype { locals, ..Prototype::default() };
        let name = |register, pc| prototype.local(register, pc).map(|local| local.name.as_str());
        let by_count = |register: usize, pc: usize| {
            let active = |v: &&LocalVariable| (v.start_pc as usize) <= pc && pc < v.end_pc as usize;
            prototype.locals.iter().filter(active).nth(register).map(|v| v.name.as_str())
        };
        for pc in 0..22 {
            for register in 0..4 {
                assert_eq!(name(register, pc), by_count(register, pc), "register {register} at {pc}");
            }
        }
        assert_eq!((name(1, 4), name(1, 8), name(1, 12)), (Some("b"), Some("d"), Some("e")));
    }
}
