//! Descriptions of the tools for models.

use passnet_record::agent::ToolSpec;
use serde_json::{Value, json};

use super::docs::TOPICS;

const WHICH_GRAPH: &str = "Name of the graph. Default: the first graph of the task.";

/// Returns the descriptions of all tools.
pub fn specs() -> Vec<ToolSpec> {
    vec![
        file_editor(),
        tool(
            "pass_evaluator",
            "Evaluates the current pass directory on the graphs of the task, in stages: lint (integrity rules), match, check \
             (correctness on several inputs), timing (speed relative to eager mode). Reports for each graph the stage at which it failed \
             and the reason. `stage` is the last stage to run: `lint` takes milliseconds; `check` reports whether the results are \
             correct, without timing and without a score; `all`, the default, runs every stage. If the device is a GPU, results are \
             first checked on the CPU with Triton's interpreter. A pass that is wrong there fails at stage cpu and does not run on the \
             GPU, unless `skip_cpu` is true.",
            json!({"type": "object", "properties": {
                "stage": {"type": "string", "enum": ["lint", "check", "all"]},
                "skip_cpu": {"type": "boolean", "description": "Skip the check on the CPU. Use it only if Triton's interpreter is wrong."},
            }}),
        ),
        tool(
            "graph_info",
            "Shows the dtype, shape and strides of every value of a graph, the number of bytes that eager mode and an ideal kernel read \
             and write, the floating-point operations of matrix products and convolutions, and the shortest possible time according to \
             the measured memory bandwidth.",
            json!({"type": "object", "properties": {"graph": text(WHICH_GRAPH)}}),
        ),
        tool(
            "profile",
            "Shows the time of one call of a graph (median of several calls, after warm-up), and the kernels and operators of the call \
             with their times and counts, from PyTorch's profiler. Shows eager mode and, if there are passes, the rewritten graph. A \
             profile is not a verdict and changes no score.",
            json!({"type": "object", "properties": {"graph": text(WHICH_GRAPH)}}),
        ),
        tool(
            "docs",
            "Shows documentation: all lint rules (`rules`) or one of them (its id, e.g. `PN203`), pass directories and kernels \
             (`passes`), pattern matching (`matching`), an example for each kind of device (`example-cpu`, `example-cuda`), and the \
             machine that measures (`machine`).",
            json!({"type": "object", "required": ["topic"], "properties": {
                "topic": text(&format!("{}, or the id of a lint rule", TOPICS.join(", "))),
            }}),
        ),
        tool(
            "best_state",
            "Compares the pass directory with the files that have the best score so far (`diff`), or replaces it by them (`restore`).",
            json!({"type": "object", "required": ["command"], "properties": {
                "command": {"type": "string", "enum": ["diff", "restore"]},
            }}),
        ),
        tool(
            "scratch_run",
            "Runs one pass on random inputs of the dtypes and shapes that you give, and compares it with its own pattern in eager mode. \
             Reports whether the results agree, or why they do not, and the times of both. The pass does not have to match a graph. A \
             scratch run is not a verdict and changes no score.",
            json!({"type": "object", "required": ["name", "inputs"], "properties": {
                "name": text("Name of the pass, without `.py`."),
                "inputs": {"type": "array", "items": {"type": "string"}, "description":
                    "One string per parameter of the pattern: `float32[2, 64]`, or `int64[8] 0..30` for integers from 0 to 30."},
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
        "Shows and edits files of the pass directory. `view` shows a file with line numbers, or lists the directory. `create` writes a \
         whole file, and replaces it if it exists. `str_replace` replaces text that occurs exactly once in the file. `insert` inserts \
         text after a line. `delete` removes a file.",
        json!({"type": "object", "required": ["command"], "properties": {
            "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete"]},
            "path": text("`/passes` for the directory, `/passes/NAME` for a file."),
            "file_text": text("With `create`: the text of the file."),
            "old_str": text("With `str_replace`: the text to replace."),
            "new_str": text("With `str_replace`: the new text."),
            "insert_line": {"type": "integer", "description": "With `insert`: number of the line to insert after, counted from 1; 0 for the beginning."},
            "insert_text": text("With `insert`: the lines to insert."),
            "view_range": {"type": "array", "items": {"type": "integer"}, "description": "With `view`: numbers of the first and last line, counted from 1."},
        }}),
    )
}
