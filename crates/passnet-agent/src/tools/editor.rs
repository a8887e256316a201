//! The tool `file_editor`: views and edits the pass directory.

use serde_json::Value;

use super::arguments::Arguments;
use crate::{
    shorten::shortened,
    workspace::{ROOT, Workspace},
};

/// Names of all arguments; the last six are aliases that models use.
const ARGUMENTS: [&str; 14] = [
    "command",
    "path",
    "file_text",
    "old_str",
    "new_str",
    "insert_line",
    "insert_text",
    "view_range",
    "file_path",
    "file",
    "content",
    "text",
    "old",
    "new",
];

/// Carries out a command on the files; returns the text for the model.
pub(super) fn edit(files: &mut Workspace, arguments: &Value) -> Result<String, String> {
    let arguments = Arguments::of(arguments, &ARGUMENTS)?;
    // Models were trained with editors that have other names for these arguments, so common names are accepted.
    let path = arguments.text(&["path", "file_path", "file"])?.unwrap_or(ROOT);
    let done = match arguments.need_text(&["command"])? {
        "view" if Workspace::is_root(path) => return Ok(files.list()),
        "view" => {
            let text = files.read(path).map_err(|error| error.to_string())?;
            return numbered(text, arguments.integers("view_range")?.as_deref());
        }
        "create" => files.write(path, arguments.need_text(&["file_text", "content", "text"])?.to_owned()),
        "str_replace" => {
            let old = arguments.need_text(&["old_str", "old"])?;
            files.replace(path, old, arguments.text(&["new_str", "new"])?.unwrap_or(""))
        }
        "insert" => {
            let line = arguments.need_integer("insert_line")?;
            files.insert(path, line, arguments.need_text(&["insert_text", "new_str", "text"])?)
        }
        "delete" => files.delete(path),
        other => {
            let other = shortened(other, 80);
            return Err(format!(
                "there is no command `{other}`; the commands are view, create, str_replace, insert, delete"
            ));
        }
    };
    done.map_err(|error| error.to_string())?;
    Ok(format!("done. {}", files.list()))
}

/// Formats a text with line numbers, or the given range of it.
fn numbered(text: &str, range: Option<&[i64]>) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let (first, last) = match range {
        None | Some([]) => (1, lines.len()),
        Some(&[first, last]) if first >= 1 => {
            let last = if last < 0 { lines.len() } else { (last as usize).min(lines.len()) };
            (first as usize, last)
        }
        Some(_) => return Err("`view_range` is two line numbers: first and last, counted from 1".to_owned()),
    };
    let shown = lines.iter().enumerate().skip(first - 1).take((last + 1).saturating_sub(first));
    Ok(shown.map(|(index, line)| format!("{:>5}  {line}", index + 1)).collect::<Vec<_>>().join("\n"))
}
