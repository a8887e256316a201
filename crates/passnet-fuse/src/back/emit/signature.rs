use std::{collections::BTreeMap, fmt::Write};

use passnet_graph::TensorType;

use super::{
    lines,
    target_code::{TargetCode, device, has_temporaries},
};
use crate::plan::{
    pattern::SharedPattern,
    region::RegionInput,
    site::PassSite,
    stage::{Buffer, Role},
};

/// Largest number of dimensions of a tensor that `kernels.with_strides` copies.
const MOST_DIMENSIONS: usize = 6;

/// Parameters of the pass, and the properties that distinguish its sites.
pub(super) struct PassSignature {
    pub(super) inputs: Vec<String>,
    pub(super) parameters: Vec<String>,
    /// For each tensor parameter, true if some graph passes the tensor in a layout other than row-major.
    pub(super) needs_stride: Vec<bool>,
    /// Numbers of the inputs that are copied if their layout is not in the plan.
    pub(super) relaid: Vec<usize>,
    /// For each result that needs memory, an input that has the same type in all graphs, if there is one.
    pub(super) twins: Vec<Option<usize>>,
}

impl PassSignature {
    pub(super) fn of(sites: &[PassSite], shared: &SharedPattern) -> Self {
        let inputs: Vec<String> = (0..sites[0].region.inputs.len()).map(|number| format!("in{number}")).collect();
        let parameters = inputs.iter().cloned().chain(shared.parameters.iter().map(|(name, _)| name.clone())).collect();
        // Strides are part of the key only if a graph needs them: each tuple in the key costs time at every call.
        let needs_stride = (0..inputs.len())
            .map(|number| sites.iter().any(|site| !site.region.inputs[number].ty.is_contiguous()))
            .collect();
        let may_be_relaid = |number: &usize| {
            let is_view = sites.iter().all(|site| site.views().is_some());
            !is_view && sites.iter().any(|site| may_be_relaid(&site.region.inputs[*number]))
        };
        let relaid = (0..inputs.len()).filter(may_be_relaid).collect();
        // Allocating memory like that of a tensor costs less than naming a shape. Views need no memory.
        let twin = |output: usize| {
            (0..inputs.len()).find(|&input| {
                let is_twin = |site: &PassSite| {
                    let ty = &site.region.inputs[input].ty;
                    site.region.allocated().nth(output).is_some_and(|output| output.ty == *ty) && ty.is_dense()
                };
                sites.iter().all(|site| is_twin(site) && site.views().is_none())
            })
        };
        let twins = (0..sites[0].region.allocated().count()).map(twin).collect();
        Self { inputs, parameters, needs_stride, relaid, twins }
    }

    /// Returns the table that maps shapes and types to the row of values that a site's call needs.
    pub(super) fn plans(&self, sites: &[PassSite], shared: &SharedPattern, parts: &TargetCode) -> String {
        let has_temporaries = sites.iter().any(has_temporaries);
        let plan = |number: usize, site: &PassSite| {
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
                let temporaries: Vec<String> =
                    site.program().iter().flat_map(|program| &program.buffers).filter_map(temporary).collect();
                plan.push(format!("[{}]", temporaries.join(", ")));
            }
            tuple_text(&plan)
        };
        format!(
            "# By shape and type of each tensor:\n# {}\n# shape, strides{} of each result.\n{}",
            parts.columns.trim_end(),
            if parts.returned.is_none() { " and type" } else { "" },
            table("PLANS", sites, shared, &self.needs_stride, plan)
        )
    }

    /// Returns the table of the strides that were predicted for inputs that may need a copy.
    pub(super) fn layouts(&self, sites: &[PassSite], shared: &SharedPattern) -> String {
        if self.relaid.is_empty() {
            return String::new();
        }
        let strides = |_, site: &PassSite| {
            let stride = |&number: &usize| tuple(&site.region.inputs[number].ty.stride) + ",";
            self.relaid.iter().map(stride).collect::<Vec<_>>().join(" ")
        };
        format!(
            "# By shape and type of each tensor: strides that PLANS has for those made by a library.\n{}",
            table("LAYOUTS", sites, shared, &vec![false; self.inputs.len()], strides)
        )
    }

    /// Returns the key of a table as an expression of the parameters. `stride` gives the strides of an input that the key contains.
    fn key(&self, stride: impl Fn(usize) -> Option<String>) -> String {
        let mut key: Vec<String> = Vec::new();
        for (number, input) in self.inputs.iter().enumerate() {
            key.push(format!("{input}.shape"));
            key.extend(stride(number));
            key.push(format!("{input}.dtype"));
        }
        key.extend(self.parameters[self.inputs.len()..].iter().cloned());
        match key.as_slice() {
            [one] => format!("({one},)"),
            key => format!("({})", key.join(", ")),
        }
    }

    /// Returns the key of PLANS for the given inputs.
    fn plan_key(&self) -> String {
        self.key(|number| self.needs_stride[number].then(|| format!("{}.stride()", self.inputs[number])))
    }

    /// Returns the key of PLANS for inputs that are copied to the strides of LAYOUTS.
    fn relaid_key(&self) -> String {
        self.key(|number| {
            self.needs_stride[number].then(|| match self.relaid.contains(&number) {
                true => format!("layout{number}"),
                false => format!("{}.stride()", self.inputs[number]),
            })
        })
    }

    /// Returns the lines for inputs that PLANS does not contain: copies, or an error. `refuses` are further conditions for the error.
    ///
    /// All conditions precede the copies. After a launch, the backend cannot tell whether the inputs are as they were, so it would
    /// not let PyTorch compute the pattern.
    fn unforeseen(&self, refuses: &str) -> String {
        let error = "raise ValueError(\"fused: not written for these shapes, types or layouts\")\n";
        if self.relaid.is_empty() {
            return format!("        {error}");
        }
        let strides: Vec<String> = self.relaid.iter().map(|number| format!("layout{number}")).collect();
        let given = self.not_row_major(|number| !self.relaid.contains(&number));
        let mut text = format!(
            "        layout = LAYOUTS.get({})\n        if layout is None:\n            {error}        {}, = layout\n        \
             plan = PLANS.get({})\n        if plan is None{refuses}{given}:\n            {error}",
            self.key(|_| None),
            strides.join(", "),
            self.relaid_key(),
        );
        for number in &self.relaid {
            let _ = write!(
                text,
                "        if in{number}.stride() != layout{number}:\n            \
                 in{number} = kernels.with_strides(in{number}, layout{number})\n",
            );
        }
        text
    }

    /// Returns the end of a condition: one of the inputs that PLANS contains in row-major layout only has another layout. Empty if there
    /// are no such inputs.
    fn not_row_major(&self, wanted: impl Fn(usize) -> bool) -> String {
        let by_layout = self.inputs.iter().zip(&self.needs_stride).enumerate();
        let contiguous: Vec<String> = by_layout
            .filter(|&(number, (_, &by_stride))| !by_stride && wanted(number))
            .map(|(_, (input, _))| format!("{input}.is_contiguous()"))
            .collect();
        if contiguous.is_empty() { String::new() } else { format!(" or not ({})", contiguous.join(" and ")) }
    }

    pub(super) fn wrapper(&self, sites: &[PassSite], parts: &TargetCode) -> String {
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
        let mut text = format!("@kernels.prepared\ndef fused({}):\n", self.parameters.join(", "));
        // An input that is overwritten must be the tensor that was passed, not a copy.
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
        let (key, refuses, not_row_major) = (self.plan_key(), &parts.refuses, self.not_row_major(|_| true));
        let _ = write!(
            text,
            "    plan = PLANS.get({key})\n    if plan is None{refuses}{not_row_major}:\n{}",
            self.unforeseen(refuses)
        );
        // A single graph whose results are all in place has nothing in its plan.
        if !unpacked.is_empty() {
            let _ = writeln!(text, "    {} = plan", lines::unpacked(&unpacked, 4));
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
            let _ = write!(
                text,
                "    if in{number} is not given{number}:\n        kernels.copy(in{number}, given{number})\n"
            );
        }
        let _ = writeln!(text, "    return {}", results(&sites[0], &updated, names).join(", "));
        text
    }
}

/// Returns whether an input may have strides that the plan does not contain, and can be copied then. This is so if a library
/// makes the input at run time: the library chooses a convolution algorithm by the instructions of the CPU, and the strides
/// depend on that choice.
fn may_be_relaid(input: &RegionInput) -> bool {
    !input.is_given && input.ty.shape.len() <= MOST_DIMENSIONS
}

/// Returns the names of the results: an overwritten input keeps its own name, all others are fresh memory.
fn results(site: &PassSite, updated: &[usize], fresh: Vec<String>) -> Vec<String> {
    let mut fresh = fresh.into_iter();
    let name = |input: Option<usize>| match input {
        Some(input) if updated.contains(&input) => Some(format!("given{input}")),
        Some(input) => Some(format!("in{input}")),
        None => fresh.next(),
    };
    site.region.outputs.iter().map(|output| output.input).filter_map(name).collect()
}

/// Returns a table with one row for each distinct site. Its keys are shapes, types and constants, and strides where
/// `with_strides` asks for them.
fn table(
    name: &str,
    sites: &[PassSite],
    shared: &SharedPattern,
    with_strides: &[bool],
    row: impl Fn(usize, &PassSite) -> String,
) -> String {
    // Sorted, so that equal tasks give equal files.
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for (number, site) in sites.iter().enumerate() {
        let mut key: Vec<String> = Vec::new();
        for (RegionInput { ty, .. }, &with_stride) in site.region.inputs.iter().zip(with_strides) {
            key.push(tuple(&ty.shape));
            if with_stride {
                key.push(tuple(&ty.stride));
            }
            key.push(format!("torch.{}", ty.dtype));
        }
        key.extend(shared.parameters.iter().map(|(_, constants)| constants[number].clone()));
        // The last entry has a comma too, because Python needs it in a tuple of one entry.
        let key: Vec<String> = key.into_iter().map(|entry| entry + ",").collect();
        rows.entry(key.join(" ")).or_insert_with(|| row(number, site));
    }
    let rows: String = rows.iter().map(|(key, row)| format!("    ({key}): ({row}),\n")).collect();
    format!("{name} = {{\n{rows}}}\n\n\n")
}

/// Returns the entries of a tuple without its parentheses.
fn tuple_text(entries: &[String]) -> String {
    match entries {
        [one] => format!("{one},"),
        entries => entries.join(", "),
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
