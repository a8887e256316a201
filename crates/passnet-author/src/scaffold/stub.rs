//! A pass whose pattern is a whole graph. The user has to write its replacement.

use fs_err as fs;
use passnet_record::GraphId;
use passnet_run::Suite;

use crate::author::AuthorError;

/// Returns the text of the pass, whose replacement raises an exception.
pub(super) fn stub(suite: &Suite, id: &GraphId, name: &str) -> Result<String, AuthorError> {
    let path = suite.sample_dir(id).join("model.py");
    let model = fs::read_to_string(&path)?;
    let forward = Forward::of(&model)
        .ok_or_else(|| AuthorError::Refused(format!("{}: no `forward` with a `return`", path.display())))?;
    let (inputs, body) = (forward.inputs.join(", "), forward.body);
    let arguments = if forward.inputs.len() == 1 { format!("({inputs},)") } else { format!("({inputs})") };
    let mut imports = forward.imports;
    imports.retain(|line| line != "import torch");
    let imports: String = imports.iter().map(|line| format!("{line}\n")).collect();
    Ok(format!(
        "\"\"\"A pass for {task}. The pattern is the graph {graph}; the replacement is left to do.\"\"\"

import torch
{imports}

def pattern({inputs}):  # what to look for; use only a part of it to replace less
{body}

def replacement_args({inputs}):  # the inputs of the pattern that the replacement gets
    return {arguments}


def replacement({inputs}):
    # Compute what the pattern returns, with a kernel of your own: `passnet.kernels.cpp` on a CPU, Triton on CUDA.
    # Check the dtype and the layout of the inputs first, and raise an error for those that the kernel does not take.
    # docs/guides/first-pass.md shows how; `passnet eval` reports a runtime error until then.
    raise NotImplementedError(\"write the replacement of {name}\")


def replacement_func():
    return replacement
",
        task = id.task,
        graph = id.graph,
    ))
}

/// Parts of a `model.py` that a stub needs.
struct Forward {
    imports: Vec<String>,
    inputs: Vec<String>,
    /// Statements, indented by four spaces, with a line break at the end.
    body: String,
}

impl Forward {
    fn of(model: &str) -> Option<Self> {
        let imports = model.lines().filter(|line| line.starts_with("import ") || line.starts_with("from "));
        let start = model.find("def forward(")?;
        let (signature, rest) = model[start + "def forward(".len()..].split_once("):")?;
        let inputs = signature.split(',').map(|name| name.split(':').next().unwrap_or(name).trim());
        let inputs: Vec<String> =
            inputs.filter(|name| *name != "self" && !name.is_empty()).map(str::to_owned).collect();
        let mut body = String::new();
        for line in rest.lines().filter(|line| !line.trim().is_empty()) {
            // In a line of the capture, statements after `;` only drop names, except for an assignment of a new name.
            let kept = line.split(';').map(str::trim).filter(|part| !part.is_empty() && !part.ends_with("= None"));
            for statement in kept {
                let statement = statement
                    .strip_prefix("return ")
                    .map_or_else(|| statement.to_owned(), |outputs| format!("return {}", single(outputs)));
                body += &format!("    {statement}\n");
            }
        }
        let complete = body.lines().last().is_some_and(|line| line.trim_start().starts_with("return "));
        complete.then(|| Self { imports: imports.map(str::to_owned).collect(), inputs, body })
    }
}

/// Returns the text that a pattern returns: one output itself, several outputs as a tuple.
fn single(outputs: &str) -> &str {
    let inside = outputs.strip_prefix('(').and_then(|rest| rest.strip_suffix(",)"));
    inside.filter(|inside| !inside.contains(',')).unwrap_or(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_of_a_capture_becomes_a_pattern() {
        let model = "import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, in_0, in_1 : torch.Tensor):\n        \
                     tmp_0 = in_0 + in_1;  in_0 = in_1 = None\n        tmp_0 += 1;  tmp_1 = tmp_0;  tmp_0 = None\n        \
                     return (tmp_1,)\n";
        let forward = Forward::of(model).unwrap();
        assert_eq!(forward.inputs, ["in_0", "in_1"]);
        assert_eq!(forward.body, "    tmp_0 = in_0 + in_1\n    tmp_0 += 1\n    tmp_1 = tmp_0\n    return tmp_1\n");
        assert_eq!((single("(a, b)"), single("(a,)"), single("(f(a, b),)")), ("(a, b)", "a", "(f(a, b),)"));
        assert!(Forward::of("def forward(self):\n        pass\n").is_none());
    }
}
