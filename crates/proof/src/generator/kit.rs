//! Functions that many programs need. A program has those that it uses.

use super::Generator;
use super::tree::{Statement, line};

/// Each name with the function's parameters and the lines of its body.
const KIT: [(&str, &str, &[&str]); 12] = [
    ("compose", "f, g", &["return function(x) return f(g(x)) end"]),
    ("apply", "f, ...", &["return f(...)"]),
    // A sequence as text.
    (
        "join",
        "list",
        &[
            "local all = {}",
            "for i = 1, #list do all[i] = tostring(list[i]) end",
            "return table.concat(all, \",\")",
        ],
    ),
    // The fields of a table, in an order that does not depend on the traversal's.
    (
        "sorted",
        "fields",
        &[
            "local all = {}",
            "for k, v in pairs(fields) do all[#all + 1] = tostring(k) .. \"=\" .. tostring(v) end",
            "table.sort(all)",
            "return table.concat(all, \" \")",
        ],
    ),
    // What a protected call gave; tables have addresses for text, so of an error that is one its code is shown.
    (
        "outcome",
        "ok, ...",
        &[
            "local e = ...",
            "if type(e) == \"table\" then return ok, \"table\", (rawget(e, \"code\")) end",
            "return ok, ...",
        ],
    ),
    // The integer in an instance.
    (
        "value",
        "x",
        // What would be a float counts as 0.
        &[
            "if type(x) == \"table\" then return rawget(x, \"v\") or 0 end",
            "if type(x) == \"string\" and (#x > 18 or x:find(\"[.eEpP]\")) then return 0 end",
            "return tonumber(x) or 0",
        ],
    ),
    // Something that says when it is closed, and because of which error; for places under protection, as the error that ends
    // a handler is no value that is the same in both tiers.
    (
        "closing",
        "name",
        &[
            "return setmetatable({}, { __close = function(_, e)",
            "  print(\"close\", name, type(e) == \"string\" and e or type(e))",
            "end })",
        ],
    ),
    (
        "closing_anywhere",
        "name",
        &["return setmetatable({}, { __close = function(_, e) print(\"close\", name, e ~= nil) end })"],
    ),
    // Calls a function from so many calls further up.
    (
        "higher",
        "n, f, ...",
        &["if n == 0 then return f(...) end", "local a, b, c = higher(n - 1, f, ...)", "return a, b, c"],
    ),
    ("count", "...", &["return select(\"#\", ...), ..."]),
    // What is known of a value of any type.
    (
        "described",
        "x",
        &[
            "if type(x) == \"table\" then return \"table \" .. tostring(rawget(x, \"v\")) end",
            "if type(x) == \"function\" then return \"function \" .. tostring(x()) end",
            "return type(x) == \"string\" and x .. \"!\" or tostring(x)",
        ],
    ),
    // At most so many bytes.
    ("short", "s", &["return #s > 40 and s:sub(1, 40) or s"]),
];

impl Generator {
    /// The name of a function of the kit, which the program has from now on.
    pub(super) fn kit(&mut self, name: &'static str) -> &'static str {
        if !self.kit.contains(&name) {
            self.kit.push(name);
        }
        name
    }

    pub(super) fn kit_statements(&self) -> Vec<Statement> {
        let used = KIT.iter().filter(|(name, _, _)| self.kit.contains(name));
        let function = |(name, parameters, body): &(&str, &str, &[&str])| {
            let lines: Vec<Statement> = body.iter().map(|text| line!(text)).collect();
            line!(format!("local function {name}({parameters})$end"), lines)
        };
        used.map(function).collect()
    }
}
