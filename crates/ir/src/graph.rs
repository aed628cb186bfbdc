//! Graphs of numbered nodes: lists of edges, dominators, strongly connected components.
//!
//! All of it takes time in proportion to nodes and edges, but for dominators of graphs with cycles, which take a few rounds.

/// What has a number.
pub trait Node: Copy {
    fn number(self) -> usize;
}

impl Node for u32 {
    fn number(self) -> usize {
        self as usize
    }
}

/// Lists of items by number, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Lists<T> {
    /// Where the list of each number starts, and where the last one ends.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Lists<T> {
    /// `each` gives all pairs of a number, which is below `count`, and an item, and gives them twice in the same order.
    pub fn new(count: usize, each: impl Fn(&mut dyn FnMut(usize, T))) -> Self {
        let mut starts = vec![0; count + 1];
        each(&mut |number, _| starts[number + 1] += 1);
        for number in 0..count {
            starts[number + 1] += starts[number];
        }
        let mut next = starts.clone();
        let mut items = vec![T::default(); starts[count] as usize];
        each(&mut |number, item| {
            items[next[number] as usize] = item;
            next[number] += 1;
        });
        Lists { starts, items }
    }

    pub fn of(&self, number: usize) -> &[T] {
        &self.items[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// How many lists there are.
    pub fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
}

impl Lists<u32> {
    /// The same edges, from where they lead to where they come from.
    pub fn reversed(&self) -> Lists<u32> {
        Lists::new(self.count(), |edge| {
            for from in 0..self.count() {
                self.of(from).iter().for_each(|to| edge(*to as usize, from as u32));
            }
        })
    }
}

/// The nodes that node 0 leads to, each before its successors except along edges that close a cycle.
pub fn reverse_postorder(successors: &Lists<u32>) -> Vec<u32> {
    let mut order = Vec::with_capacity(successors.count());
    let mut seen = vec![false; successors.count()];
    seen[0] = true;
    let mut stack = vec![(0, 0)];
    while let Some((node, next)) = stack.last_mut() {
        match successors.of(*node as usize).get(*next) {
            Some(to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[*to as usize], true) {
                    stack.push((*to, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Which nodes are on all paths from node 0 to another.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// By node, its place in the order; `u32::MAX` for what is not reached.
    position: Vec<u32>,
    /// By place in the order, that of the immediate dominator; the first is its own.
    parent: Vec<u32>,
    /// By place in the order, when a walk of the tree enters and leaves it.
    interval: Vec<(u32, u32)>,
}

impl Dominators {
    /// `order` is a reverse postorder; `predecessors` gives the nodes with an edge to a node, of which those that are not in
    /// the order do not count.
    pub fn new<'a, T, P>(order: &[T], count: usize, predecessors: P) -> Self
    where
        T: Node + 'a,
        P: Fn(T) -> &'a [T],
    {
        let mut position = vec![u32::MAX; count];
        order.iter().enumerate().for_each(|(place, node)| position[node.number()] = place as u32);
        let parent = find_parents(order, &position, predecessors);
        let interval = intervals(&parent);
        Dominators { position, parent, interval }
    }

    pub fn position(&self, node: usize) -> u32 {
        self.position[node]
    }

    /// The place in the order of the immediate dominator; `None` for node 0 and for what is not reached.
    pub fn parent(&self, node: usize) -> Option<usize> {
        let place = self.position[node];
        (place != 0 && place != u32::MAX).then(|| self.parent[place as usize] as usize)
    }

    /// Every path to `below` is by way of `above`; a node dominates itself. False for what is not reached.
    pub fn dominates(&self, above: usize, below: usize) -> bool {
        let interval = |node: usize| self.interval.get(self.position[node] as usize);
        match (interval(above), interval(below)) {
            (Some((start, end)), Some((inner, _))) => start <= inner && inner < end,
            _ => false,
        }
    }
}

const UNKNOWN: u32 = u32::MAX;

/// Cooper, Harvey and Kennedy's iteration ("A Simple, Fast Dominance Algorithm"), on places in the order.
fn find_parents<'a, T, P>(order: &[T], position: &[u32], predecessors: P) -> Vec<u32>
where
    T: Node + 'a,
    P: Fn(T) -> &'a [T],
{
    let mut tree = Tree::new(order.len());
    let is_known = |place: u32| place != UNKNOWN;
    let places = |node: &T| predecessors(*node).iter().map(|from| position[from.number()]);
    let closes_cycle =
        |(place, node): (usize, &T)| places(node).any(|from| is_known(from) && from as usize >= place);
    let has_cycles = order.iter().enumerate().any(closes_cycle);
    for round in 0.. {
        let mut changed = false;
        for (place, node) in order.iter().enumerate().skip(1) {
            let known = places(node).filter(|from| is_known(*from) && is_known(tree.parent[*from as usize]));
            let new = known.reduce(|a, b| tree.meet(a, b)).unwrap_or(UNKNOWN);
            if tree.parent[place] != new {
                changed = true;
                // From now on what is below the node has ancestors that `jump` does not know.
                tree.jumps &= round == 0;
                tree.set(place, new);
            }
        }
        // Without cycles each node came after all that lead to it.
        if !changed || !has_cycles {
            break;
        }
    }
    tree.parent
}

/// A tree in which nodes come after their parents.
struct Tree {
    parent: Vec<u32>,
    depth: Vec<u32>,
    /// An ancestor further up: with these the path to any ancestor has a number of steps that grows with the logarithm of its
    /// length (Myers, "An applicative random-access stack").
    jump: Vec<u32>,
    /// They are right.
    jumps: bool,
}

impl Tree {
    fn new(count: usize) -> Tree {
        let mut tree =
            Tree { parent: vec![UNKNOWN; count], depth: vec![0; count], jump: vec![0; count], jumps: true };
        if let Some(first) = tree.parent.first_mut() {
            *first = 0;
        }
        tree
    }

    fn set(&mut self, node: usize, parent: u32) {
        self.parent[node] = parent;
        if parent == UNKNOWN {
            return;
        }
        let depth = |node: u32| self.depth[node as usize];
        let jump = |node: u32| self.jump[node as usize];
        let (first, second) = (jump(parent), jump(jump(parent)));
        let same = depth(parent) - depth(first) == depth(first) - depth(second);
        (self.depth[node], self.jump[node]) = (depth(parent) + 1, if same { second } else { parent });
    }

    /// The last node on the paths to both.
    fn meet(&self, mut a: u32, mut b: u32) -> u32 {
        let parent = |node: u32| self.parent[node as usize];
        if !self.jumps {
            while a != b {
                (a, b) = if a > b { (parent(a), b) } else { (a, parent(b)) };
            }
            return a;
        }
        let depth = |node: u32| self.depth[node as usize];
        let jump = |node: u32| self.jump[node as usize];
        if depth(a) < depth(b) {
            (a, b) = (b, a);
        }
        while depth(a) > depth(b) {
            a = if depth(jump(a)) >= depth(b) { jump(a) } else { parent(a) };
        }
        while a != b {
            (a, b) = if jump(a) != jump(b) { (jump(a), jump(b)) } else { (parent(a), parent(b)) };
        }
        a
    }
}

/// The children of a node are visited in the order's order.
fn intervals(parent: &[u32]) -> Vec<(u32, u32)> {
    let mut size = vec![1; parent.len()];
    for place in (1..parent.len()).rev() {
        size[parent[place] as usize] += size[place];
    }
    let mut interval = vec![(0, 0); parent.len()];
    let mut next = vec![1; parent.len()];
    for place in 0..parent.len() {
        let start = if place == 0 { 0 } else { next[parent[place] as usize] };
        interval[place] = (start, start + size[place]);
        next[place] = start + 1;
        if place > 0 {
            next[parent[place] as usize] += size[place];
        }
    }
    interval
}

/// For each node the number of its strongly connected component: nodes with the same number lead to one another (Tarjan's
/// algorithm).
pub fn components(successors: &Lists<u32>) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = successors.count();
    let (mut index, mut low, mut component) = (vec![NONE; count], vec![0; count], vec![NONE; count]);
    let (mut time, mut found) = (0, 0);
    let (mut open, mut stack): (Vec<u32>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    for root in 0..count {
        if index[root] == NONE {
            stack.push((root, 0));
        }
        while let Some((node, next)) = stack.last_mut() {
            let node = *node;
            if index[node] == NONE {
                (index[node], low[node]) = (time, time);
                time += 1;
                open.push(node as u32);
            }
            if let Some(to) = successors.of(node).get(*next).map(|to| *to as usize) {
                *next += 1;
                if index[to] == NONE {
                    stack.push((to, 0));
                } else if component[to] == NONE {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            stack.pop();
            if let Some((before, _)) = stack.last() {
                low[*before] = low[*before].min(low[node]);
            }
            while low[node] == index[node]
                && let Some(member) = open.pop()
            {
                component[member as usize] = found;
                if member as usize == node {
                    found += 1;
                    break;
                }
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, u32)], count: usize) -> Lists<u32> {
        Lists::new(count, |edge| edges.iter().for_each(|(from, to)| edge(*from, *to)))
    }

    /// Which nodes `from` leads to, itself only by way of an edge, without passing `without`.
    fn reach(graph: &Lists<u32>, from: usize, without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; graph.count()];
        let mut work = vec![from as u32];
        while let Some(node) = work.pop() {
            for to in graph.of(node as usize) {
                if Some(*to as usize) != without && !std::mem::replace(&mut seen[*to as usize], true) {
                    work.push(*to);
                }
            }
        }
        seen
    }

    #[test]
    fn random_graphs_have_the_dominators_and_components_that_reachability_says() {
        let mut seed = 7u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        for round in 0..300 {
            let count = 2 + random(12);
            let edges: Vec<(usize, u32)> =
                (0..count + random(8)).map(|_| (random(count), random(count) as u32)).collect();
            let graph = graph(&edges, count);
            let (back, order) = (graph.reversed(), reverse_postorder(&graph));
            let dominators = Dominators::new(&order, count, |node: u32| back.of(node as usize));
            let component = components(&graph);
            let reached = |from: usize, to: usize, without| from == to || reach(&graph, from, without)[to];
            for a in 0..count {
                for b in 0..count {
                    let (both, cut) =
                        (reached(0, a, None) && reached(0, b, None), a != 0 && reached(0, b, Some(a)));
                    assert_eq!(
                        dominators.dominates(a, b),
                        both && (a == b || !cut),
                        "round {round}: {a} {b} in {edges:?}"
                    );
                    let cycle = reached(a, b, None) && reached(b, a, None);
                    assert_eq!(component[a] == component[b], cycle, "round {round}: {a} {b} in {edges:?}");
                }
            }
        }
    }
}
