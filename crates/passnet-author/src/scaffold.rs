//! Scaffolds: pass directories to start from, with a pattern of a task and a simple, correct kernel that can be made faster.

mod stub;

use passnet_fuse::{Choices, write_passes};
use passnet_graph::Target;
use passnet_record::{GraphId, ORDER_FILE, PassDirectory, SuiteTask};
use passnet_run::Suite;
use passnet_services::Interpreter;

use self::stub::stub;
use crate::{author::AuthorError, fuse::TypedSuite};

/// Prefix of the names of passes.
const PASS: &str = "my_pass";

/// A pass directory to start from.
#[derive(Clone, Debug)]
pub struct Scaffold {
    /// The files.
    pub passes: PassDirectory,
    /// Reason why the user has to write the replacement; `None` if the kernels exist and are correct.
    pub to_do: Option<String>,
}

/// Writes the passes of one task, with the kernels of the built-in author. If that author has no kernel for the task, the pattern
/// is the first graph, and the replacement raises an exception.
///
/// # Errors
/// If the first graph cannot be read.
pub fn scaffold(
    interpreter: &Interpreter,
    suite: &Suite,
    task: &SuiteTask,
    target: Target,
) -> Result<Scaffold, AuthorError> {
    let to_do = match TypedSuite::of(interpreter, suite, target) {
        Ok(typed) => {
            let written = write_passes(typed.graphs(&task.id), target, &Choices::new());
            if !written.files().is_empty() {
                return Ok(Scaffold { passes: PassDirectory::new(renamed(&task.id, &written))?, to_do: None });
            }
            "the built-in author has no kernel for these operations; `passnet fuse TASK --explain` says more".to_owned()
        }
        Err(error) => error.to_string(),
    };
    let first = suite.visible(task).next();
    let graph: GraphId = first.ok_or_else(|| AuthorError::Refused(format!("task {} has no visible graph", task.id)))?;
    let files = [(format!("{PASS}.py"), stub(suite, &graph, PASS)?), (ORDER_FILE.to_owned(), order(1))];
    Ok(Scaffold { passes: PassDirectory::new(files)?, to_do: Some(to_do) })
}

/// Returns the files under the names of a scaffold, with a remark in each pass.
fn renamed(task: &str, written: &PassDirectory) -> Vec<(String, String)> {
    let listed = written.order().unwrap_or_default();
    let passes: Vec<&[u8]> = listed.iter().filter_map(|name| written.file(&format!("{name}.py"))).collect();
    let count = passes.len();
    let mut renamed = vec![(ORDER_FILE.to_owned(), order(count))];
    for (index, text) in passes.into_iter().enumerate() {
        renamed.push((format!("{}.py", name(index, count)), with_remark(task, &String::from_utf8_lossy(text))));
    }
    renamed
}

fn name(index: usize, count: usize) -> String {
    if count == 1 { PASS.to_owned() } else { format!("{PASS}_{index}") }
}

fn order(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|index| format!("\"{}\"", name(index, count))).collect();
    format!("[{}]\n", names.join(", "))
}

/// Inserts a remark below the first line, which describes the pattern.
fn with_remark(task: &str, text: &str) -> String {
    let remark = format!(
        "A pass for {task}, generated and right for the shapes, types and layouts in PLANS. Begin here:\n\
         - `pattern` has the operations that are replaced, `fused` calls the kernels, other tensors are left to PyTorch.\n\
         - Change a kernel, then `passnet eval TASK --passes DIR`: it says whether the result is still right, and how fast."
    );
    match text.strip_prefix("\"\"\"").and_then(|rest| rest.split_once("\"\"\"\n")) {
        Some((first, rest)) => format!("\"\"\"{}\n\n{remark}\n\"\"\"\n{rest}", first.trim_end()),
        None => format!("\"\"\"{remark}\n\"\"\"\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_get_names_in_their_order() {
        let files = |order: &str, count: usize| {
            let passes = (0..count).map(|index| (format!("fuse_{index}.py"), format!("\"\"\"{index}.\"\"\"\nx = 1\n")));
            PassDirectory::new(passes.chain([(ORDER_FILE.to_owned(), order.to_owned())])).unwrap()
        };
        let one = renamed("t", &files("[\"fuse_0\"]", 1));
        assert_eq!(one[0].1, "[\"my_pass\"]\n");
        assert!(
            one[1].1.starts_with("\"\"\"0.\n\nA pass for t,") && one[1].1.ends_with("\"\"\"\nx = 1\n"),
            "{}",
            one[1].1
        );
        let two = renamed("t", &files("[\"fuse_1\", \"fuse_0\"]", 2));
        assert_eq!(two[0].1, "[\"my_pass_0\", \"my_pass_1\"]\n");
        assert_eq!((two[1].0.as_str(), two[2].0.as_str()), ("my_pass_0.py", "my_pass_1.py"));
        assert!(two[1].1.starts_with("\"\"\"1."));
    }
}
