//! The text of a pass file.

use std::fmt::Write;

use passnet_graph::{Target, TensorType};
use passnet_record::counted;

use super::{
    cpp,
    formula::formula,
    lines::{UNBROKEN_SPACE, filled, wrapped_python},
    signature::PassSignature,
    triton, views,
};
use crate::{
    back::tuning::Choices,
    plan::{
        pattern::{PatternText, share},
        site::{PassSite, Replacement},
        views::JoinedView,
    },
};

/// Returns the text of a pass for sites of one pattern.
pub(crate) fn pass_file(sites: &[PassSite], choices: &Choices) -> String {
    let patterns: Vec<&PatternText> = sites.iter().map(|site| &site.pattern).collect();
    let shared = share(&patterns);
    let signature = PassSignature::of(sites, &shared);
    if let Replacement::Same(repeated) = &sites[0].replacement {
        return same(&signature.parameters, &shared.body, repeated);
    }
    let views: Vec<&[JoinedView]> = sites.iter().filter_map(PassSite::views).collect();
    let parts = match sites[0].target {
        _ if views.len() == sites.len() => views::parts(&views),
        Target::Cpu => cpp::parts(sites, choices),
        Target::Cuda => triton::parts(sites, choices),
    };
    let parameters = signature.parameters.join(", ");
    let arguments = if parameters.is_empty() { "()".to_owned() } else { format!("({parameters},)") };
    let mut text = String::new();
    let _ = write!(
        text,
        "\"\"\"{}\"\"\"\n\n{}import torch\n{}\n\n\
         {}def replacement_func():\n    return fused\n\n\n",
        description(&parts.title, &sites[0]),
        if shared.body.contains("operator.") { "import operator\n\n" } else { "" },
        parts.imports,
        wrapped_python(&format!(
            "def pattern({parameters}):\n{}\n\ndef replacement_args({parameters}):\n    return {arguments}\n\n\n",
            shared.body
        )),
    );
    text.push_str(&parts.kernels);
    let tables = [signature.plans(sites, &shared, &parts), signature.layouts(sites, &shared)];
    text.push_str(&wrapped_python(&tables.concat()));
    text.push_str(&wrapped_python(&signature.wrapper(sites, &parts)));
    text
}

/// Returns the description of a pass: the operations that it replaces, and for the first graph their types, the formula and the
/// expected gain.
fn description(title: &str, site: &PassSite) -> String {
    let ty = |ty: &TensorType| {
        let shape: Vec<String> = ty.shape.iter().map(i64::to_string).collect();
        format!("{}[{}]", ty.dtype, shape.join(&format!(",{UNBROKEN_SPACE}")))
    };
    let types = |types: Vec<String>| types.join(", ");
    let region = &site.region;
    let operations = counted(region.nodes.len(), "operation");
    let operations = format!("{title} instead of {operations}: {}.", site.operations.join(", "));
    let given = types(region.inputs.iter().map(|input| ty(&input.ty)).collect());
    let results = types(region.outputs.iter().map(|output| ty(&output.ty)).collect());
    let signature = format!("{given} -> {results}");
    let device = match site.target {
        Target::Cuda => "an H200",
        Target::Cpu => "a core of a server CPU",
    };
    let gain = format!("Predicted for {device}: {}.", site.gain).replace(" us", &format!("{UNBROKEN_SPACE}us"));
    let [operations, signature, gain] =
        [operations, signature.trim_start().to_owned(), gain].map(|paragraph| filled(&paragraph));
    let formula = formula(&share(&[&site.pattern]).body).join("\n    ");
    let formula = if formula.is_empty() { formula } else { format!("    {formula}\n\n") };
    format!("{operations}\n{signature}\n{}{gain}", wrapped_python(&formula))
}

/// Returns the text of a pass that makes the same call as its pattern.
fn same(parameters: &[String], body: &str, repeated: &str) -> String {
    let parameters = parameters.join(", ");
    format!(
        "\"\"\"A view, as it was: the rest of the graph is work for libraries.\"\"\"\n\n\n\
         def pattern({parameters}):\n{body}\n\ndef replacement_args({parameters}):\n    return ({parameters},)\n\n\n\
         def replacement_func():\n    return fused\n\n\ndef fused({parameters}):\n{repeated}"
    )
}
