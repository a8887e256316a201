//! The file of a pass: pattern, table of plans, kernels and the function that launches them.

mod cpp;
mod relay;
mod triton;
mod views;

use std::{collections::BTreeMap, fmt::Write};

use crate::{
    author::{Site, Target, Work},
    pattern::{Pattern, SharedPattern, share},
    region::Input,
    stage::{Buffer, Role},
    typed::TensorType,
    views::View,
};

/// The text of a pass for sites of one pattern.
pub(crate) fn pass_file(sites: &[Site]) -> String {
    let patterns: Vec<&Pattern> = sites.iter().map(|site| &site.pattern).collect();
    let shared = share(&patterns);
    let signature = Signature::of(sites, &shared);
    if sites.iter().all(|site| matches!(site.work, Work::Same)) {
        return same(&signature.parameters, &shared.body);
    }
    let views: Vec<&[View]> = sites.iter().filter_map(Site::views).collect();
    let parts = match sites[0].target {
        _ if views.len() == sites.len() => views::parts(&views),
        Target::Cpu => cpp::parts(sites, !signature.relaid.is_empty()),
        Target::Cuda => triton::parts(sites),
    };
    let parameters = signature.parameters.join(", ");
    let arguments = if parameters.is_empty() { "()".to_owned() } else { format!("({parameters},)") };
    let mut text = String::new();
    let _ = write!(
        text,
        "\"\"\"{} instead of {} operations.\"\"\"\n\n{}import torch\n{}\n\n\
         def pattern({parameters}):\n{}\n\ndef replacement_args({parameters}):\n    return {arguments}\n\n\n\
         def replacement_func():\n    return fused\n\n\n",
        parts.title,
        sites[0].region.nodes.len(),
        if shared.body.contains("operator.") { "import operator\n\n" } else { "" },
        parts.imports,
        shared.body,
    );
    text.push_str(&parts.kernels);
    if !signature.relaid.is_empty() {
        text.push_str(&relay::helpers(sites[0].target));
    }
    text.push_str(&signature.plans(sites, &shared, &parts));
    text.push_str(&signature.layouts(sites, &shared));
    text.push_str(&signature.wrapper(sites, &parts));
    text
}

/// A pass that does what its pattern does.
fn same(parameters: &[String], body: &str) -> String {
    let parameters = parameters.join(", ");
    format!(
        "\"\"\"A view, as it was: the rest of the graph is work for libraries.\"\"\"\n\n\n\
         def pattern({parameters}):\n{body}\n\ndef replacement_args({parameters}):\n    return ({parameters},)\n\n\n\
         def replacement_func():\n    return fused\n\n\ndef fused({parameters}):\n{body}"
    )
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
    /// Numbers of the inputs that are copied where their layout is not foreseen.
    relaid: Vec<usize>,
    /// For each result that needs memory, an input of the same type in all graphs.
    twins: Vec<Option<usize>>,
}

impl Signature {
    fn of(sites: &[Site], shared: &SharedPattern) -> Self {
        let inputs: Vec<String> = (0..sites[0].region.inputs.len()).map(|number| format!("in{number}")).collect();
        let parameters = inputs.iter().cloned().chain(shared.parameters.iter().map(|(name, _)| name.clone())).collect();
        let needs_stride = (0..inputs.len())
            .map(|number| sites.iter().any(|site| !site.region.inputs[number].ty.is_contiguous()))
            .collect();
        let may_be_relaid = |number: &usize| {
            let is_view = sites.iter().all(|site| site.views().is_some());
            !is_view && sites.iter().any(|site| relay::may_be_relaid(&site.region.inputs[*number]))
        };
        let relaid = (0..inputs.len()).filter(may_be_relaid).collect();
        // To ask for memory like that of a tensor costs less than to name a shape; views get none.
        let twin = |output: usize| {
            (0..inputs.len()).find(|&input| {
                let is_twin = |site: &Site| {
                    let ty = &site.region.inputs[input].ty;
                    site.region.allocated().nth(output).is_some_and(|output| output.ty == *ty) && ty.is_dense()
                };
                sites.iter().all(|site| is_twin(site) && site.views().is_none())
            })
        };
        let twins = (0..sites[0].region.allocated().count()).map(twin).collect();
        Self { inputs, parameters, needs_stride, relaid, twins }
    }

    /// The table from shapes and types to what a site's call needs.
    fn plans(&self, sites: &[Site], shared: &SharedPattern, parts: &Parts) -> String {
        let has_temporaries = sites.iter().any(has_temporaries);
        let plan = |number: usize, site: &Site| {
            let mut plan = parts.entries[number].clone();
            for (output, twin) in site.region.allocated().zip(&self.twins) {
                if twin.is_some() {
                    continue;
                }
                let TensorType { shape, stride, dtype } = &output.ty;
                plan.extend([tuple(shape), tuple(stride)]);
                if parts.returned.is_none() {
                    plan.push(format!("torch.{dtype}"));
                }
            }
            if has_temporaries {
                let temporaries: Vec<String> = site.program().buffers.iter().filter_map(temporary).collect();
                plan.push(format!("[{}]", temporaries.join(", ")));
            }
            plan.join(", ")
        };
        format!(
            "# Shape and type of each tensor: {}shape, strides{} of each result.\n{}",
            parts.columns,
            if parts.returned.is_none() { " and type" } else { "" },
            table("PLANS", sites, shared, &self.needs_stride, plan)
        )
    }

    /// The table of predicted strides of the inputs that are copied where they have others.
    fn layouts(&self, sites: &[Site], shared: &SharedPattern) -> String {
        if self.relaid.is_empty() {
            return String::new();
        }
        let strides = |_, site: &Site| {
            let stride = |&number: &usize| tuple(&site.region.inputs[number].ty.stride) + ",";
            self.relaid.iter().map(stride).collect::<Vec<_>>().join(" ")
        };
        format!(
            "# Shape and type of each tensor: strides that PLANS has for those made by a library.\n{}",
            table("LAYOUTS", sites, shared, &vec![false; self.inputs.len()], strides)
        )
    }

    /// The key of a table in terms of the parameters.
    fn key(&self, with_strides: bool) -> String {
        let mut key: Vec<String> = Vec::new();
        for (input, by_stride) in self.inputs.iter().zip(&self.needs_stride) {
            key.push(format!("{input}.shape"));
            if *by_stride && with_strides {
                key.push(format!("{input}.stride()"));
            }
            key.push(format!("{input}.dtype"));
        }
        key.extend(self.parameters[self.inputs.len()..].iter().cloned());
        match key.as_slice() {
            [one] => format!("({one},)"),
            key => format!("({})", key.join(", ")),
        }
    }

    /// What is done with inputs that PLANS does not have: copies, or an error.
    fn unforeseen(&self) -> String {
        let error = "raise ValueError(\"fused: written for the shapes, types and layouts in PLANS, not for these\")\n";
        if self.relaid.is_empty() {
            return format!("        {error}");
        }
        let strides: Vec<String> = self.relaid.iter().map(|number| format!("layout{number}")).collect();
        let mut text = format!(
            "        layout = LAYOUTS.get({})\n        if layout is None:\n            {error}        {}, = layout\n",
            self.key(false),
            strides.join(", "),
        );
        for number in &self.relaid {
            let _ = write!(
                text,
                "        if in{number}.stride() != layout{number}:\n            \
                 in{number} = relaid(in{number}, layout{number})\n",
            );
        }
        let given: Vec<String> = self.contiguous(|number| !self.relaid.contains(&number));
        let given = if given.is_empty() { String::new() } else { format!(" or not ({})", given.join(" and ")) };
        let key = self.key(true);
        let _ = write!(text, "        plan = PLANS.get({key})\n        if plan is None{given}:\n            {error}");
        text
    }

    /// Conditions on inputs that PLANS has row-major only.
    fn contiguous(&self, wanted: impl Fn(usize) -> bool) -> Vec<String> {
        let by_layout = self.inputs.iter().zip(&self.needs_stride).enumerate();
        by_layout
            .filter(|&(number, (_, &by_stride))| !by_stride && wanted(number))
            .map(|(_, (input, _))| format!("{input}.is_contiguous()"))
            .collect()
    }

    fn wrapper(&self, sites: &[Site], parts: &Parts) -> String {
        let contiguous = self.contiguous(|_| true);
        let outputs = sites[0].region.allocated().count();
        let mut unpacked = parts.names.clone();
        for number in (0..outputs).filter(|&number| self.twins[number].is_none()) {
            unpacked.extend([format!("shape{number}"), format!("stride{number}")]);
            if parts.returned.is_none() {
                unpacked.push(format!("dtype{number}"));
            }
        }
        if sites.iter().any(has_temporaries) {
            unpacked.push("temporaries".to_owned());
        }
        let decorator = if parts.returned.is_none() { "@kernels.prepared\n" } else { "" };
        let mut text = format!("{decorator}def fused({}):\n", self.parameters.join(", "));
        // Inputs that are overwritten have to be those that were given.
        let updated: Vec<usize> = sites[0]
            .region
            .updates
            .iter()
            .map(|(buffer, _)| *buffer)
            .filter(|buffer| self.relaid.contains(buffer))
            .collect();
        for number in &updated {
            let _ = writeln!(text, "    given{number} = in{number}");
        }
        let _ = writeln!(text, "    plan = PLANS.get({})", self.key(true));
        let contiguous =
            if contiguous.is_empty() { String::new() } else { format!(" or not ({})", contiguous.join(" and ")) };
        let _ = write!(text, "    if plan is None{}{contiguous}:\n{}", parts.refuses, self.unforeseen(),);
        // A single graph whose results are all in place has nothing in its plan.
        if !unpacked.is_empty() {
            let _ = writeln!(text, "    {} = plan", unpacked.join(", "));
        }
        if let Some(returned) = &parts.returned {
            let _ = writeln!(text, "    return {}", returned.join(", "));
            return text;
        }
        let names: Vec<String> = (0..outputs).map(|number| format!("out{number}")).collect();
        let device = device(&sites[0]);
        for (number, name) in names.iter().enumerate() {
            let _ = match self.twins[number] {
                Some(twin) => writeln!(text, "    {name} = torch.empty_like(in{twin})"),
                None => writeln!(
                    text,
                    "    {name} = torch.empty_strided(shape{number}, stride{number}, dtype=dtype{number}, device={device})"
                ),
            };
        }
        text.push_str(&parts.launch);
        for number in &updated {
            let _ = write!(text, "    if in{number} is not given{number}:\n        copy(in{number}, given{number})\n");
        }
        let mut fresh = names.into_iter();
        let results = sites[0].region.outputs.iter().filter_map(|output| match output.input {
            Some(input) if updated.contains(&input) => Some(format!("given{input}")),
            Some(input) => Some(format!("in{input}")),
            None => fresh.next(),
        });
        let _ = writeln!(text, "    return {}", results.collect::<Vec<_>>().join(", "));
        text
    }
}

/// A table from shapes, strides where they are asked for, types and constants to a row for each site. Equal sites have one.
fn table(
    name: &str,
    sites: &[Site],
    shared: &SharedPattern,
    with_strides: &[bool],
    row: impl Fn(usize, &Site) -> String,
) -> String {
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for (number, site) in sites.iter().enumerate() {
        let mut key: Vec<String> = Vec::new();
        for (Input { ty, .. }, &with_stride) in site.region.inputs.iter().zip(with_strides) {
            key.push(tuple(&ty.shape));
            if with_stride {
                key.push(tuple(&ty.stride));
            }
            key.push(format!("torch.{}", ty.dtype));
        }
        key.extend(shared.parameters.iter().map(|(_, constants)| constants[number].clone()));
        // With a comma also after the last: a single entry is a tuple, too.
        let key: Vec<String> = key.into_iter().map(|entry| entry + ",").collect();
        rows.entry(key.join(" ")).or_insert_with(|| row(number, site));
    }
    let rows: String = rows.iter().map(|(key, row)| format!("    ({key}): ({row}),\n")).collect();
    format!("{name} = {{\n{rows}}}\n\n\n")
}

/// Where fresh memory is to be, as text.
fn device(site: &Site) -> &'static str {
    match site.target {
        _ if !site.region.inputs.is_empty() => "in0.device",
        Target::Cpu => "\"cpu\"",
        Target::Cuda => "\"cuda\"",
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
