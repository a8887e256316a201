//! Descriptions of the tools for models.

use passnet_record::agent::ToolSpec;
use serde_json::{Value, json};

use super::docs::TOPICS;

const WHICH_GRAPH: &str = "name of the graph; the first one if not given";

/// Returns the descriptions of all tools.
pub fn specs() -> Vec<ToolSpec> {
    vec![
        file_editor(),
        tool(
            "pass_evaluator",
            "Evaluates the current pass directory on the graphs of the task: lint (integrity rules), match, check (correctness on \
             several inputs), timing (against eager). Reports for each graph the stage at which it failed, and the reason. `stage` is \
             where to stop: `lint` takes milliseconds; `check` reports whether the results are right, sooner than with timing, and \
             gives no score; `all` is the default. For a GPU, results are first checked on the CPU, with Triton's interpreter; a pass \
             that is wrong there fails at cpu and does not run on the GPU, unless `skip_cpu` is true.",
            json!({"type": "object", "properties": {
                "stage": {"type": "string", "enum": ["lint", "check", "all"]},
                "skip_cpu": {"type": "boolean", "description": "skip the check on the CPU, if the interpreter is known to be wrong"},
            }}),
        ),
        tool(
            "graph_info",
            "Types of all values of a graph (dtype, shape, strides), the bytes that eager mode and an ideal kernel move, the \
             arithmetic of products, and a bound on the time from measured memory bandwidth.",
            json!({"type": "object", "properties": {"graph": text(WHICH_GRAPH)}}),
        ),
        tool(
            "profile",
            "Time of one call of a graph (median of several, after warm-up), and what runs in it according to PyTorch's profiler: kernels \
             and operators with times and counts. Shows eager mode and, if there are passes, the rewritten graph. It shows where time \
             goes; it is no verdict.",
            json!({"type": "object", "properties": {"graph": text(WHICH_GRAPH)}}),
        ),
        tool(
            "docs",
            "Documentation: lint rules (`rules`, or the id of one, e.g. `PN203`), pass directories and kernels (`passes`), pattern \
             matching (`matching`), an example for each device, and the machine that measures (`machine`).",
            json!({"type": "object", "required": ["topic"], "properties": {
                "topic": text(&format!("{}, or the id of a lint rule", TOPICS.join(", "))),
            }}),
        ),
        tool(
            "best_state",
            "The files with the best evaluated score so far: `diff` shows what has changed since, `restore` brings them back.",
            json!({"type": "object", "required": ["command"], "properties": {
                "command": {"type": "string", "enum": ["diff", "restore"]},
            }}),
        ),
        tool(
            "scratch_run",
            "Runs one pass on random inputs of your choice, and compares it with its own pattern in eager mode: whether the results \
             agree, or why not, and the times of both. The pass does not have to match the graph. It is no verdict and changes no score.",
            json!({"type": "object", "required": ["name", "inputs"], "properties": {
                "name": text("name of the pass, without .py"),
                "inputs": {"type": "array", "items": {"type": "string"}, "description":
                    "one text per parameter of the pattern: `float32[2, 64]`, or `int64[8] 0..30` for integers from 0 to 30"},
            }}),
        ),
    ]
}

fn tool(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
}

/// Schema of a text argument.
fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn file_editor() -> ToolSpec {
    tool(
        "file_editor",
        "View and edit the pass directory. `view` shows a file with line numbers, or lists the directory; `create` writes \
         a whole file, over what was there; `str_replace` replaces text that occurs exactly once; `insert` adds lines \
         after a line; `delete` removes a file.",
        json!({"type": "object", "required": ["command"], "properties": {
            "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete"]},
            "path": text("/passes for the directory, /passes/NAME for a file"),
            "file_text": text("create: the whole text"),
            "old_str": text("str_replace: what to replace"),
            "new_str": text("str_replace: what to put there"),
            "insert_line": {"type": "integer", "description": "insert: the line to insert after, 0 for the beginning"},
            "insert_text": text("insert: the lines"),
            "view_range": {"type": "array", "items": {"type": "integer"}, "description": "view: first and last line"},
        }}),
    )
}
