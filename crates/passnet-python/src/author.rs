//! The built-in author in the process of its user. It turns a typed graph into the text of passes, without files.

use passnet_fuse::{Choices, write_checked_passes, write_judged_parts, write_judged_passes};
use passnet_graph::{Target, Type, TypedGraph, wire};
use passnet_record::{PassDirectory, services::CanonicalCalls};
use pyo3::{exceptions::PyValueError, prelude::*};

/// Writes the passes of the built-in author for one graph.
///
/// `graph` is in wire form (`docs/reference/graph-wire.md`), `types` a JSON list with the type of each value, inputs first, as
/// `passnet._services.propagate` writes them. `target` is `cpu` or `cuda`. `judged` is `""`, `whole` or `parts`. A caller that compares
/// each region with exact results uses `whole`, which also accepts operations whose rounding errors later operations amplify. It uses
/// `parts` for a region that lost as a whole. `canonical` is the JSON of `passnet._passes.canonical.canonical_calls`; without it, the calls
/// count as canonical. Returns pairs of a name and the text of a pass, in the order of their application.
#[pyfunction]
#[pyo3(signature = (graph, types, target, judged="", canonical=None))]
pub(super) fn write_passes(
    py: Python<'_>,
    graph: &str,
    types: &str,
    target: &str,
    judged: &str,
    canonical: Option<&str>,
) -> PyResult<Vec<(String, String)>> {
    let target = match target {
        "cpu" => Target::Cpu,
        "cuda" => Target::Cuda,
        other => return Err(PyValueError::new_err(format!("there is no target `{other}`; use `cpu` or `cuda`"))),
    };
    let write: Write = match judged {
        "" => write_checked_passes,
        "whole" => write_judged_passes,
        "parts" => write_judged_parts,
        other => return Err(PyValueError::new_err(format!("`judged` is `whole` or `parts`, not `{other}`"))),
    };
    // Other threads of the user run meanwhile. A panic of the author is caught, because it would end the user's call. PyTorch then runs
    // the graph without passes.
    let written = py.detach(|| std::panic::catch_unwind(|| passes_of(graph, types, canonical, target, write)));
    written.unwrap_or_else(|_| Err("the author panicked".to_owned())).map_err(PyValueError::new_err)
}

type Write = fn(&[TypedGraph], Target, &Choices) -> PassDirectory;

fn passes_of(
    graph: &str,
    types: &str,
    canonical: Option<&str>,
    target: Target,
    write: Write,
) -> Result<Vec<(String, String)>, String> {
    let graph = wire::from_json(graph).map_err(|error| error.to_string())?;
    let types: Vec<Type> = serde_json::from_str(types).map_err(|error| format!("types: {error}"))?;
    let mut typed = TypedGraph::new(graph, types).map_err(|error| error.to_string())?;
    if let Some(text) = canonical {
        let calls: CanonicalCalls = serde_json::from_str(text).map_err(|error| format!("canonical form: {error}"))?;
        let form = wire::from_value(&calls.graph).map_err(|error| format!("canonical form: {error}"))?;
        typed = typed.with_canonical(form, calls.places).map_err(|error| error.to_string())?;
    }
    let written = write(&[typed], target, &Choices::new());
    // A directory without passes has no order.
    let order = written.order().unwrap_or_default();
    let text = |name: &str| std::str::from_utf8(written.file(&format!("{name}.py"))?).ok().map(str::to_owned);
    Ok(order.into_iter().filter_map(|name| text(&name).map(|text| (name, text))).collect())
}
