//! The files `format` of tracepoints: a line for each field of the record (kernel/trace/trace_events.c, `f_show`).

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatField {
    /// As C declares it, without the name: `unsigned long`, `char[16]`, `__data_loc char[]`.
    pub ty: String,
    pub name: String,
    pub offset: u32,
    pub size: u32,
    pub signed: bool,
}

/// Fields that all records begin with (`struct trace_entry`).
const COMMON: &str = "common_";

/// The fields of a record, but for those that all have.
pub fn fields(format: &str) -> Vec<FormatField> {
    let lines = format.lines().filter_map(|line| line.trim().strip_prefix("field:"));
    lines.filter_map(field).filter(|field| !field.name.starts_with(COMMON)).collect()
}

/// `char comm[16]; offset:8; size:16; signed:0;`
fn field(line: &str) -> Option<FormatField> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", number)) => offset = number.parse().ok(),
            Some(("size", number)) => size = number.parse().ok(),
            Some(("signed", number)) => signed = number == "1",
            _ => {}
        }
    }
    let (declared, array) = match declaration.split_once('[') {
        // Of `__data_loc char[] name` the brackets stand in front of the name.
        Some((start, rest)) if !rest.ends_with(']') => {
            let (within, name) = rest.split_once(']')?;
            (format!("{start} {}", name.trim()), format!("[{within}]"))
        }
        Some((start, rest)) => (start.to_string(), format!("[{rest}")),
        None => (declaration.to_string(), String::new()),
    };
    let start = declared.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let (ty, name) = declared.split_at(start);
    let ty = format!("{}{array}", ty.trim());
    Some(FormatField { ty, name: name.to_string(), offset: offset?, size: size?, signed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_types_names_and_places() {
        let format = "name: sched_process_exec\nID: 311\nformat:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;
\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;
\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;
\tfield:const char * name;\toffset:32;\tsize:8;\tsigned:0;
\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;

print fmt: \"filename=%s pid=%d\", __get_str(filename), REC->pid\n";
        let fields = fields(format);
        let shown: Vec<_> =
            fields.iter().map(|f| (f.ty.as_str(), f.name.as_str(), f.offset, f.size, f.signed)).collect();
        assert_eq!(
            shown,
            [
                ("__data_loc char[]", "filename", 8, 4, false),
                ("pid_t", "pid", 12, 4, true),
                ("char[16]", "comm", 16, 16, false),
                ("const char *", "name", 32, 8, false),
                ("unsigned long[6]", "args", 40, 48, false),
            ]
        );
    }
}
