//! The first line of a CSV file: titles, or the first entry?
//!
//! `key` in front means titles. So does a line that the table could not take as an entry, and one with the names of a record's fields.

use moonhook_daemon::TableInfo;
use std::net::IpAddr;

/// Whether these cells of the first line are titles.
pub fn are_titles(cells: &[String], table: Option<&TableInfo>) -> bool {
    let [key, values @ ..] = cells else { return false };
    if values.is_empty() {
        return false;
    }
    if key == "key" {
        return true;
    }
    let Some(table) = table else { return false };
    let are_fields = !table.fields.is_empty() && values.iter().all(|title| table.fields.contains(title));
    let is_entry = fits(&table.key, key) && values.iter().all(|value| fits(&table.value, value));
    are_fields || !is_entry && cells.iter().all(|cell| is_title(cell))
}

/// The fields that the titles name; `None` where values are no records.
pub fn fields(titles: &[String], table: Option<&TableInfo>) -> Option<Vec<String>> {
    let are_records = match table {
        Some(table) => !table.fields.is_empty(),
        None => titles[1..] != ["value"],
    };
    are_records.then(|| titles[1..].to_vec())
}

/// A word, as people call columns.
fn is_title(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_alphabetic() || c == '_') && !["true", "false", "nil"].contains(&cell)
}

/// Whether a cell can be a value of the type, given in the words of declarations.
fn fits(ty: &str, cell: &str) -> bool {
    match ty {
        "int" => cell.parse::<i64>().is_ok(),
        "boolean" => ["true", "false"].contains(&cell),
        "ip" | "ipv4" | "ipv6" => {
            cell.split_once('/').map_or(cell, |(address, _)| address).parse::<IpAddr>().is_ok()
        }
        "mac" => moonhook_schema::mac(cell.as_bytes()).is_ok(),
        record if record.starts_with('{') => cell.starts_with('{'),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(key: &str, value: &str, fields: &[&str]) -> Option<TableInfo> {
        let fields = fields.iter().map(|field| field.to_string()).collect();
        Some(TableInfo {
            name: "t".into(),
            script: None,
            key: key.into(),
            value: value.into(),
            capacity: 1,
            fields,
        })
    }

    #[test]
    fn titles_are_what_cannot_be_an_entry() {
        let record = "{bytes = \"int\", pkts = \"int\"}";
        for (line, table, expected) in [
            ("key,value", None, true),
            ("keys,value", None, false),
            ("address,hits", table("ipv4", "int", &[]), true),
            ("address,hits", table("string:32", "int", &[]), true),
            ("name,comment", table("string:32", "string:32", &[]), false),
            ("key,comment", table("string:32", "string:32", &[]), true),
            ("network,blocked", table("ip", "boolean", &[]), true),
            ("192.0.2.1,true", table("ip", "boolean", &[]), false),
            ("10.0.0.0/8,7", table("ipv4", "int", &[]), false),
            // An entry with a mistake in it.
            ("192.0.2.1,hits", table("ipv4", "int", &[]), false),
            ("192.0.2.999,7", table("ipv4", "int", &[]), false),
            ("true,false", table("boolean", "int", &[]), false),
            ("02:00:00:00:00:01,1", table("mac", "int", &[]), false),
            ("station,count", table("mac", "int", &[]), true),
            ("address,bytes,pkts", table("ip", record, &["bytes", "pkts"]), true),
            ("name,pkts,bytes", table("string:9", record, &["bytes", "pkts"]), true),
            ("name,octets", table("string:9", record, &["bytes", "pkts"]), true),
            ("a,1,2", table("string:9", record, &["bytes", "pkts"]), false),
            ("address", table("ip", "int", &[]), false),
        ] {
            let cells: Vec<String> = line.split(',').map(str::to_string).collect();
            assert_eq!(are_titles(&cells, table.as_ref()), expected, "{line} {table:?}");
        }
    }

    #[test]
    fn titles_name_fields_of_records_only() {
        let titles = |line: &str| line.split(',').map(str::to_string).collect::<Vec<_>>();
        let int = table("ip", "int", &[]);
        assert_eq!(fields(&titles("address,hits"), int.as_ref()), None);
        assert_eq!(fields(&titles("key,hits"), int.as_ref()), None);
        assert_eq!(fields(&titles("key,value"), None), None);
        let record = table("ip", "{n = \"int\"}", &["n"]);
        assert_eq!(fields(&titles("address,n"), record.as_ref()), Some(vec!["n".to_string()]));
    }
}
