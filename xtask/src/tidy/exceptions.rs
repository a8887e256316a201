//! Places that may break a rule, each with its reason. An exception that nothing needs is a violation itself.

use std::path::Path;

use super::violation::BrokenRule;

struct Exception {
    rule: &'static str,
    /// Prefix of the path.
    path: &'static str,
    /// Text that the message contains; empty for all messages.
    about: &'static str,
    #[expect(dead_code, reason = "read by people")]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: "word",
        path: "crates/passnet-eval/src/fingerprint.rs",
        about: "processor",
        reason: "a key of /proc/cpuinfo",
    },
    Exception {
        rule: "word",
        path: "crates/passnet-lint/src/flow/api.rs",
        about: "processor",
        reason: "attributes of PyTorch's device properties",
    },
    Exception {
        rule: "word",
        path: "crates/passnet-lint/specifications/honest.md",
        about: "processor",
        reason: "an attribute of PyTorch's device properties",
    },
    Exception {
        rule: "word",
        path: "crates/passnet-lint/specifications/ordinary-gpu.md",
        about: "processor",
        reason: "an attribute of PyTorch's device properties",
    },
    Exception {
        rule: "word",
        path: "crates/passnet-lint/specifications/ordinary-gpu-more.md",
        about: "processor",
        reason: "an attribute of PyTorch's device properties",
    },
    Exception {
        rule: "word",
        path: "crates/passnet-lint/specifications/ordinary-gpu-tables.md",
        about: "processor",
        reason: "an attribute of PyTorch's device properties",
    },
    Exception {
        rule: "word",
        path: "crates/passnet-lint/specifications/ordinary-more.md",
        about: "processor",
        reason: "an attribute of PyTorch's device properties",
    },
    Exception {
        rule: "word",
        path: "xtask/src/tidy/exceptions.rs",
        about: "processor",
        reason: "the list names the word",
    },
    Exception {
        rule: "file-length",
        path: "python/passnet/kernels/vectors.hpp",
        about: "",
        reason: "one header, because the lint checks one text of it",
    },
    Exception {
        rule: "function-length",
        path: "crates/passnet-graphnet/src/unparse.rs",
        about: "`statement`",
        reason: "one match with an arm for each statement",
    },
    Exception {
        rule: "function-length",
        path: "crates/passnet-graphnet/src/unparse/expr.rs",
        about: "`expr_at`",
        reason: "one match with an arm for each expression",
    },
    Exception {
        rule: "function-length",
        path: "crates/passnet-lint/src/flow/expressions.rs",
        about: "`eval_raw`",
        reason: "one match with an arm for each expression",
    },
    Exception {
        rule: "function-length",
        path: "crates/passnet-lint/src/flow/statements.rs",
        about: "`run_statement`",
        reason: "one match with an arm for each statement",
    },
    Exception {
        rule: "function-length",
        path: "crates/passnet-eval/src/run.rs",
        about: "`run_suite`",
        reason: "one pass from the header to the outcome; the threads borrow its locals",
    },
    Exception {
        rule: "function-length",
        path: "crates/passnet-eval/src/evaluation/census.rs",
        about: "`take_census`",
        reason: "one chain of exonerations; each step uses the results of those before",
    },
    Exception {
        rule: "function-length",
        path: "crates/passnet-eval/src/evaluation/check.rs",
        about: "`check`",
        reason: "requests and replies of both workers have to alternate in one order",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-agent/src/client",
        about: "without a type",
        reason: "requests to model servers, whose fields their providers define",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-agent/src/corpus/export.rs",
        about: "without a type",
        reason: "training examples in the forms that libraries of trainers read",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-agent/src/tools/specs.rs",
        about: "without a type",
        reason: "JSON Schema of the arguments of tools",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-agent/src/teach",
        about: "without a type",
        reason: "arguments of tool calls, whose schema is in `tools/specs.rs`; a model writes such objects itself",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-dataset/src/cut.rs",
        about: "without a type",
        reason: "keys and a file of GraphNet's samples",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-graph/src/wire.rs",
        about: "without a type",
        reason: "the wire form of graphs, whose types are the IR itself",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-graph/src/matching/json.rs",
        about: "without a type",
        reason: "matches in the wire form, from the native module to Python code of the same version in one process",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-graph/src/typed.rs",
        about: "",
        reason: "types of values: part of the wire form of graphs, as `wire.rs`",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-graphnet/src/graph_net.rs",
        about: "",
        reason: "a file of GraphNet's samples, with keys that PassNet does not know",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-run/src/suite.rs",
        about: "",
        reason: "the file `index.json` of GraphNet's task folders",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-dataset/src/fold/range.rs",
        about: "",
        reason: "a value in a column of a Parquet table, whose rows are in `store`",
    },
    Exception {
        rule: "format",
        path: "crates/passnet-dataset/src/hub",
        about: "",
        reason: "answers of the API of the Hugging Face Hub and of Git LFS",
    },
];

/// Removes the violations that an exception covers.
pub(super) fn apply(violations: &mut Vec<BrokenRule>) {
    let mut needed = vec![false; EXCEPTIONS.len()];
    violations.retain(|violation| {
        let covering = EXCEPTIONS.iter().position(|exception| {
            exception.rule == violation.rule
                && violation.file.to_string_lossy().starts_with(exception.path)
                && violation.message.contains(exception.about)
        });
        if let Some(index) = covering {
            needed[index] = true;
        }
        covering.is_none()
    });
    for (exception, needed) in EXCEPTIONS.iter().zip(needed) {
        if !needed {
            let message = format!("nothing needs this exception from `{}`; remove it", exception.rule);
            violations.push(BrokenRule::new("exception", Path::new(exception.path), 0, message));
        }
    }
}
