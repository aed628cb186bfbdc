//! Numbers of cells, which stay the same whenever the code that makes them is executed again ([`crate::cells`]).

use crate::fields::Key;
use std::collections::{HashMap, HashSet};

/// The numbers that cells and tables made at packet time have.
#[derive(Default)]
pub struct Numbering {
    /// Numbers of captured variables and tables.
    cells: HashMap<Vec<usize>, u32>,
    /// Numbers of fields of tables made at packet time.
    field_cells: HashMap<(u32, Key), u32>,
    /// The cells that are such fields.
    fields: HashSet<u32>,
    /// Where each table made at packet time is made.
    table_sites: HashMap<u32, Vec<usize>>,
}

impl Numbering {
    /// The number of what is made at that place.
    pub fn cell(&mut self, site: Vec<usize>) -> u32 {
        let next = self.next_cell();
        *self.cells.entry(site).or_insert(next)
    }

    /// The cell of a table's field.
    pub fn field_cell(&mut self, table: u32, key: &Key) -> u32 {
        let next = self.next_cell();
        let cell = *self.field_cells.entry((table, key.clone())).or_insert(next);
        self.fields.insert(cell);
        cell
    }

    /// The number that the next cell gets.
    pub fn next_cell(&self) -> u32 {
        (self.cells.len() + self.field_cells.len()) as u32
    }

    pub fn is_field(&self, cell: u32) -> bool {
        self.fields.contains(&cell)
    }

    /// The cells that a table's fields have had so far, in no particular order.
    pub fn cells_of_table(&self, table: u32) -> impl Iterator<Item = u32> {
        self.field_cells.iter().filter(move |((owner, _), _)| *owner == table).map(|(_, cell)| *cell)
    }

    /// Notes where a table is made.
    pub fn note_table(&mut self, table: u32, site: Vec<usize>) {
        self.table_sites.insert(table, site);
    }

    /// Where a table is made.
    pub fn table_site(&self, table: u32) -> Option<&Vec<usize>> {
        self.table_sites.get(&table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_and_a_field_keep_their_numbers() {
        let mut numbering = Numbering::default();
        let table = numbering.cell(vec![1, 2]);
        let field = numbering.field_cell(table, &Key::Text(b"x".as_slice().into()));
        assert_eq!([table, field], [0, 1]);
        assert_eq!(numbering.cell(vec![1, 2]), table);
        assert_eq!(numbering.field_cell(table, &Key::Text(b"x".as_slice().into())), field);
        assert_eq!(numbering.next_cell(), 2);
        assert!(numbering.is_field(field) && !numbering.is_field(table));
    }
}
