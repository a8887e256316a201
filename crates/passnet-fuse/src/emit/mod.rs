//! The file of a pass: pattern, table of plans, kernels and the function that launches them.

mod cpp;
mod triton;
mod views;

use std::fmt::Write;

use crate::{
    author::{Site, Target, Work},
    pattern::{Pattern, SharedPattern, share},
    stage::{Buffer, Role},
    typed::{TensorType, TypedGraph},
    views::View,
};

/// The text of a pass for sites of one pattern.
pub(crate) fn pass_file(task: &[TypedGraph], sites: &[Site], target: Target) -> String {
    let patterns: Vec<&Pattern> = sites.iter().map(|site| &site.pattern).collect();
    let shared = share(&patterns);
    let signature = Signature::of(task, sites, &shared);
    let views: Vec<&[View]> = sites.iter().filter_map(Site::views).collect();
    let parts = match target {
        _ if views.len() == sites.len() => views::parts(&views),
        Target::Cpu => cpp::parts(sites),
        Target::Cuda => triton::parts(sites),
    };
    let parameters = signature.parameters.join(", ");
    let mut text = String::new();
    let _ = write!(
        text,
        "\"\"\"{} instead of {} operations.\"\"\"\n\n{}import torch\n{}\n\n\
         def pattern({parameters}):\n{}\n\ndef replacement_args({parameters}):\n    return ({parameters},)\n\n\n\
         def replacement_func():\n    return fused\n\n\n",
        parts.title,
        sites[0].region.nodes.len(),
        if shared.body.contains("operator.") { "import operator\n\n" } else { "" },
        parts.imports,
        shared.body,
    );
    text.push_str(&parts.kernels);
    text.push_str(&signature.plans(task, sites, &shared, &parts));
    text.push_str(&signature.wrapper(sites, &parts));
    text
}

/// What a target adds to a pass.
struct Parts {
    /// First words of the file's description.
    title: String,
    imports: String,
    kernels: String,
    /// What the rows of the table are, for its comment.
    columns: String,
    /// Names that a row of the table is unpacked to, ahead of the results.
    names: Vec<String>,
    /// Entries of each site's row for these names.
    entries: Vec<Vec<String>>,
    /// When the function refuses beside unknown shapes.
    refuses: &'static str,
    /// Lines that launch the kernels.
    launch: String,
    /// The results, where they need no memory.
    returned: Option<Vec<String>>,
}

/// Parameters of the pass, and by what it tells its sites apart.
struct Signature {
    inputs: Vec<String>,
    parameters: Vec<String>,
    /// For each tensor parameter, whether a graph gives it in another layout than row-major.
    needs_stride: Vec<bool>,
}

impl Signature {
    fn of(task: &[TypedGraph], sites: &[Site], shared: &SharedPattern) -> Self {
        let inputs: Vec<String> = (0..sites[0].region.inputs.len()).map(|number| format!("in{number}")).collect();
        let parameters = inputs.iter().cloned().chain(shared.parameters.iter().map(|(name, _)| name.clone())).collect();
        let needs_stride = (0..inputs.len())
            .map(|number| {
                sites.iter().any(|site| {
                    let ty = task[site.graph].tensor(site.region.inputs[number]);
                    ty.is_none_or(|ty| !ty.is_contiguous())
                })
            })
            .collect();
        Self { inputs, parameters, needs_stride }
    }

    /// The table from shapes and types to what a site's call needs.
    fn plans(&self, task: &[TypedGraph], sites: &[Site], shared: &SharedPattern, parts: &Parts) -> String {
        let mut rows: Vec<(String, String)> = Vec::new();
        for (number, site) in sites.iter().enumerate() {
            let mut key = String::new();
            for (&input, &by_stride) in site.region.inputs.iter().zip(&self.needs_stride) {
                if let Some(ty) = task[site.graph].tensor(input) {
                    let _ = write!(key, "{}, ", tuple(&ty.shape));
                    if by_stride {
                        let _ = write!(key, "{}, ", tuple(&ty.stride));
                    }
                    let _ = write!(key, "torch.{}, ", ty.dtype);
                }
            }
            for (_, constants) in &shared.parameters {
                let _ = write!(key, "{}, ", constants[number]);
            }
            let mut plan = parts.entries[number].clone();
            for TensorType { shape, stride, dtype } in site.region.allocated().map(|output| &output.ty) {
                plan.extend([tuple(shape), tuple(stride)]);
                if parts.returned.is_none() {
                    plan.push(format!("torch.{dtype}"));
                }
            }
            if sites.iter().any(has_temporaries) {
                let temporaries: Vec<String> = site.program().buffers.iter().filter_map(temporary).collect();
                plan.push(format!("[{}]", temporaries.join(", ")));
            }
            if !rows.iter().any(|(known, _)| *known == key) {
                rows.push((key, plan.join(", ")));
            }
        }
        rows.sort();
        let rows: Vec<String> =
            rows.into_iter().map(|(key, plan)| format!("    ({}): ({plan}),\n", key.trim_end())).collect();
        format!(
            "# Shape and type of each tensor: {}shape, strides{} of each result.\nPLANS = {{\n{}}}\n\n\n",
            parts.columns,
            if parts.returned.is_none() { " and type" } else { "" },
            rows.concat()
        )
    }

    fn wrapper(&self, sites: &[Site], parts: &Parts) -> String {
        let mut key: Vec<String> = Vec::new();
        let mut contiguous: Vec<String> = Vec::new();
        for (input, by_stride) in self.inputs.iter().zip(&self.needs_stride) {
            key.push(format!("{input}.shape"));
            if *by_stride {
                key.push(format!("{input}.stride()"));
            } else {
                contiguous.push(format!("{input}.is_contiguous()"));
            }
            key.push(format!("{input}.dtype"));
        }
        key.extend(self.parameters[self.inputs.len()..].iter().cloned());
        let outputs = sites[0].region.allocated().count();
        let mut unpacked = parts.names.clone();
        for number in 0..outputs {
            unpacked.extend([format!("shape{number}"), format!("stride{number}")]);
            if parts.returned.is_none() {
                unpacked.push(format!("dtype{number}"));
            }
        }
        if sites.iter().any(has_temporaries) {
            unpacked.push("temporaries".to_owned());
        }
        let mut text =
            format!("def fused({}):\n    plan = PLANS.get(({}))\n", self.parameters.join(", "), key.join(", "));
        let contiguous =
            if contiguous.is_empty() { String::new() } else { format!(" or not ({})", contiguous.join(" and ")) };
        let _ = write!(
            text,
            "    if plan is None{}{contiguous}:\n        \
             raise ValueError(\"fused: written for the shapes, types and layouts in PLANS, not for these\")\n",
            parts.refuses,
        );
        // A single graph whose results are all in place has nothing in its plan.
        if !unpacked.is_empty() {
            let _ = writeln!(text, "    {} = plan", unpacked.join(", "));
        }
        if let Some(returned) = &parts.returned {
            let _ = writeln!(text, "    return {}", returned.join(", "));
            return text;
        }
        let names: Vec<String> = (0..outputs).map(|number| format!("out{number}")).collect();
        for (number, name) in names.iter().enumerate() {
            let _ = writeln!(
                text,
                "    {name} = torch.empty_strided(shape{number}, stride{number}, dtype=dtype{number}, device=in0.device)"
            );
        }
        text.push_str(&parts.launch);
        let mut fresh = names.into_iter();
        let results = sites[0].region.outputs.iter().filter_map(|output| match output.input {
            Some(input) => Some(format!("in{input}")),
            None => fresh.next(),
        });
        let _ = writeln!(text, "    return {}", results.collect::<Vec<_>>().join(", "));
        text
    }
}

fn tuple(values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    match values.as_slice() {
        [one] => format!("({one},)"),
        values => format!("({})", values.join(", ")),
    }
}

fn temporary(buffer: &Buffer) -> Option<String> {
    match buffer.role {
        Role::Temporary(numel) => Some(format!("({numel}, torch.{})", buffer.dtype)),
        _ => None,
    }
}

fn has_temporaries(site: &Site) -> bool {
    matches!(&site.work, Work::Kernels(program) if program.buffers.iter().any(|buffer| matches!(buffer.role, Role::Temporary(_))))
}
