//! Entry points that are lambdas: `pattern = lambda x: torch.relu(x)`.
//!
//! Such an assignment is treated as the function `def pattern(x): return torch.relu(x)`, so that all rules of entry points apply to it.

use ruff_python_ast::{AtomicNodeIndex, Expr, Identifier, Parameters, Stmt, StmtFunctionDef, StmtReturn};
use ruff_text_size::Ranged;

/// The functions that the evaluator calls by name.
pub(crate) const ENTRY_POINTS: &[&str] = &["pattern", "replacement_args", "replacement_func"];

/// Returns the function for an assignment of a lambda to the name of an entry point, other statements as they are.
pub(crate) fn with_named_entry_point(stmt: Stmt) -> Stmt {
    let Stmt::Assign(assign) = &stmt else { return stmt };
    let [Expr::Name(target)] = assign.targets.as_slice() else { return stmt };
    let (true, Expr::Lambda(lambda)) = (ENTRY_POINTS.contains(&target.id.as_str()), &*assign.value) else {
        return stmt;
    };
    let returned =
        StmtReturn { node_index: AtomicNodeIndex::NONE, range: lambda.body.range(), value: Some(lambda.body.clone()) };
    let empty = || Parameters { range: lambda.range, ..Parameters::default() };
    Stmt::FunctionDef(StmtFunctionDef {
        node_index: AtomicNodeIndex::NONE,
        range: assign.range,
        is_async: false,
        decorator_list: Vec::new().into(),
        name: Identifier::new(target.id.clone(), target.range),
        type_params: None,
        parameters: lambda.parameters.clone().unwrap_or_else(|| Box::new(empty())),
        returns: None,
        body: vec![Stmt::Return(returned)].into(),
    })
}
