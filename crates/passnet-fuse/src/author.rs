//! Task in, pass directory out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use crate::{
    pattern::{Pattern, SharedPattern, pattern, share},
    print::{
        cpp,
        merge::{Skeleton, merge, split},
    },
    region::{Copies, Region, regions},
    stage::{Buffer, Program, Role, schedule},
    typed::{TensorType, TypedGraph},
};

/// Name of the file that orders the passes of a directory.
const ORDER_FILE: &str = "sorted_output_pass_rule_names.json";

/// A pass directory: file names and their content. Empty where nothing is to be rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassDir {
    /// Name and text of each file, the order of the passes included.
    pub files: BTreeMap<String, String>,
}

impl PassDir {
    /// Whether the author has nothing to offer.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// A place where a kernel stands for a part of a graph.
struct Site {
    region: Region,
    program: Program,
    pattern: Pattern,
    graph: usize,
}

/// What the passes are to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// C++ on the processor.
    Cpu,
    /// CUDA devices. There is no printer of Triton yet: nothing is written.
    Cuda,
}

/// Writes the passes of a task, given by its typed graphs.
pub fn author(task: &[TypedGraph], target: Target) -> PassDir {
    if target == Target::Cuda {
        return PassDir::default();
    }
    let mut groups: BTreeMap<Vec<String>, Vec<Site>> = BTreeMap::new();
    let mut order: Vec<Vec<String>> = Vec::new();
    for (number, typed) in task.iter().enumerate() {
        let mut found = regions(typed, Copies::Never);
        if found.is_empty() {
            let bytes = |region: &Region| region.outputs.iter().map(|output| output.ty.nbytes()).sum::<i64>();
            found = regions(typed, Copies::Unseen).into_iter().min_by_key(bytes).into_iter().collect();
        }
        for region in found {
            let Some(program) = schedule(&region) else { continue };
            if region.inputs.is_empty() {
                continue;
            }
            let pattern = pattern(typed, &region);
            let key = pattern.pieces.clone();
            if !order.contains(&key) {
                order.push(key.clone());
            }
            groups.entry(key).or_default().push(Site { region, program, pattern, graph: number });
        }
    }
    let mut files = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for key in chosen(&groups, &order) {
        let Some(sites) = groups.get(key) else { continue };
        let name = format!("fuse_{}", names.len());
        files.insert(format!("{name}.py"), pass_file(task, sites));
        names.push(name);
    }
    if !names.is_empty() {
        let list: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        files.insert(ORDER_FILE.to_owned(), format!("[{}]\n", list.join(", ")));
    }
    PassDir { files }
}

/// The patterns to rewrite: those of several operations, and for graphs without any of these one of a single operation,
/// because a graph that nothing matches counts as failed.
fn chosen<'k>(groups: &BTreeMap<Vec<String>, Vec<Site>>, order: &'k [Vec<String>]) -> Vec<&'k Vec<String>> {
    let mut covered: BTreeSet<usize> = BTreeSet::new();
    let mut chosen = Vec::new();
    for wants_several in [true, false] {
        for key in order {
            let Some(sites) = groups.get(key) else { continue };
            let graphs: BTreeSet<usize> = sites.iter().map(|site| site.graph).collect();
            let has_several = sites.iter().any(|site| site.region.nodes.len() > 1);
            if has_several == wants_several && (wants_several || !graphs.is_subset(&covered)) {
                covered.extend(graphs);
                chosen.push(key);
            }
        }
    }
    chosen
}

fn pass_file(task: &[TypedGraph], sites: &[Site]) -> String {
    let patterns: Vec<&Pattern> = sites.iter().map(|site| &site.pattern).collect();
    let shared = share(&patterns);
    let inputs: Vec<String> = (0..sites[0].region.inputs.len()).map(|number| format!("in{number}")).collect();
    let parameters: Vec<String> =
        inputs.iter().cloned().chain(shared.parameters.iter().map(|(name, _)| name.clone())).collect();
    let parameters = parameters.join(", ");
    let kernels = Kernels::of(sites);
    let mut text = String::new();
    let _ = write!(
        text,
        "\"\"\"One loop nest instead of {} operations.\"\"\"\n\n{}import torch\n\nfrom passnet import kernels\n\n\n\
         def pattern({parameters}):\n{}\n\ndef replacement_args({parameters}):\n    return ({parameters},)\n\n\n\
         def replacement_func():\n    return fused\n\n\n",
        sites[0].region.nodes.len(),
        if shared.body.contains("operator.") { "import operator\n\n" } else { "" },
        shared.body,
    );
    text.push_str(&kernels.text);
    text.push_str(&plans(task, sites, &shared, &kernels));
    text.push_str(&wrapper(sites, &inputs, &shared, &parameters, needs_strides(task, sites)));
    text
}

/// The C++ source of a pass, and which function and which row of its sizes each site takes.
struct Kernels {
    text: String,
    /// Name of the function and row, for each site.
    of_site: Vec<(String, usize)>,
}

impl Kernels {
    fn of(sites: &[Site]) -> Self {
        let mut skeletons: Vec<(Skeleton, Vec<String>, Vec<Vec<i64>>)> = Vec::new();
        let mut of_site = Vec::new();
        for site in sites {
            let (skeleton, sizes) = split(&cpp::body(&site.program));
            let parameters = cpp::parameters(&site.program);
            let known = skeletons.iter().position(|(known, types, _)| *known == skeleton && *types == parameters);
            let number = known.unwrap_or_else(|| {
                skeletons.push((skeleton, parameters, Vec::new()));
                skeletons.len() - 1
            });
            // Equal sizes share a row.
            let rows = &mut skeletons[number].2;
            let row = rows.iter().position(|row| *row == sizes).unwrap_or_else(|| {
                rows.push(sizes);
                rows.len() - 1
            });
            of_site.push((format!("kernel{number}"), row));
        }
        let mut source = String::from(cpp::MATH);
        let mut signatures = Vec::new();
        for (number, (skeleton, parameters, rows)) in skeletons.iter().enumerate() {
            let merged = merge(skeleton, rows);
            let columns = merged.rows[0].len();
            if columns > 0 {
                let rows: Vec<String> = merged
                    .rows
                    .iter()
                    .map(|row| format!("{{{}}}", row.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")))
                    .collect();
                let _ = writeln!(
                    source,
                    "constexpr int64_t sizes{number}[{}][{columns}] = {{{}}};\n",
                    rows.len(),
                    rows.join(", ")
                );
            }
            let signature = format!("void kernel{number}({}, int64_t row)", parameters.join(", "));
            let _ = writeln!(source, "extern \"C\" {signature} {{");
            for column in 0..columns {
                let _ = writeln!(source, "    const int64_t n{column} = sizes{number}[row][{column}];");
            }
            let _ = writeln!(source, "{}}}\n", merged.text);
            signatures.push(signature);
        }
        source.push_str(cpp::END);
        let names: Vec<String> = (0..skeletons.len()).map(|number| format!("kernel{number}")).collect();
        let quoted: Vec<String> = signatures.iter().map(|signature| format!("    \"{signature}\",\n")).collect();
        let flags: Vec<String> = cpp::FLAGS.iter().map(|flag| format!("\"{flag}\"")).collect();
        let text = format!(
            "SOURCE = \"\"\"\n{source}\"\"\"\n\n{} = kernels.cpp(\n    SOURCE,\n{}    flags=({}),\n)\n\n",
            names.join(", "),
            quoted.concat(),
            flags.join(", "),
        );
        Self { text, of_site }
    }
}

/// For each tensor parameter, whether a graph gives it in another layout than row-major.
fn needs_strides(task: &[TypedGraph], sites: &[Site]) -> Vec<bool> {
    (0..sites[0].region.inputs.len())
        .map(|number| {
            sites.iter().any(|site| {
                let ty = task[site.graph].tensor(site.region.inputs[number]);
                ty.is_none_or(|ty| !ty.is_contiguous())
            })
        })
        .collect()
}

fn tuple(values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    match values.as_slice() {
        [one] => format!("({one},)"),
        values => format!("({})", values.join(", ")),
    }
}

/// The table from shapes and types to kernel, row and results.
fn plans(task: &[TypedGraph], sites: &[Site], shared: &SharedPattern, kernels: &Kernels) -> String {
    let strides = needs_strides(task, sites);
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for (number, site) in sites.iter().enumerate() {
        let mut key = String::new();
        for (&input, &by_stride) in site.region.inputs.iter().zip(&strides) {
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
        let (kernel, row) = &kernels.of_site[number];
        let mut plan = format!("{kernel}, {row}");
        for buffer in &site.program.buffers {
            if let Role::Output(TensorType { shape, stride, dtype }) = &buffer.role {
                let _ = write!(plan, ", {}, {}, torch.{dtype}", tuple(shape), tuple(stride));
            }
        }
        let temporaries: Vec<String> = site.program.buffers.iter().filter_map(temporary).collect();
        if sites.iter().any(has_temporaries) {
            let _ = write!(plan, ", [{}]", temporaries.join(", "));
        }
        rows.insert(key, plan);
    }
    let rows: Vec<String> =
        rows.into_iter().map(|(key, plan)| format!("    ({}): ({plan}),\n", key.trim_end())).collect();
    format!(
        "# Shape and type of each tensor: kernel, row of its sizes, shape, strides and type of each result.\nPLANS = {{\n{}}}\n\n\n",
        rows.concat()
    )
}

fn temporary(buffer: &Buffer) -> Option<String> {
    match buffer.role {
        Role::Temporary(numel) => Some(format!("({numel}, torch.{})", buffer.dtype)),
        _ => None,
    }
}

fn has_temporaries(site: &Site) -> bool {
    site.program.buffers.iter().any(|buffer| matches!(buffer.role, Role::Temporary(_)))
}

fn wrapper(sites: &[Site], inputs: &[String], shared: &SharedPattern, parameters: &str, strides: Vec<bool>) -> String {
    let mut key: Vec<String> = Vec::new();
    let mut contiguous: Vec<String> = Vec::new();
    for (input, by_stride) in inputs.iter().zip(strides) {
        key.push(format!("{input}.shape"));
        if by_stride {
            key.push(format!("{input}.stride()"));
        } else {
            contiguous.push(format!("{input}.is_contiguous()"));
        }
        key.push(format!("{input}.dtype"));
    }
    key.extend(shared.parameters.iter().map(|(name, _)| name.clone()));
    let outputs = sites[0].region.outputs.len();
    let mut unpacked = "kernel, row".to_owned();
    for number in 0..outputs {
        let _ = write!(unpacked, ", shape{number}, stride{number}, dtype{number}");
    }
    let with_temporaries = sites.iter().any(has_temporaries);
    if with_temporaries {
        unpacked.push_str(", temporaries");
    }
    let mut text = format!("def fused({parameters}):\n    plan = PLANS.get(({}))\n", key.join(", "));
    let contiguous =
        if contiguous.is_empty() { String::new() } else { format!(" or not ({})", contiguous.join(" and ")) };
    let _ = write!(
        text,
        "    if plan is None or in0.is_cuda{contiguous}:\n        \
         raise ValueError(\"fused: written for the shapes, types and layouts in PLANS, not for these\")\n    \
         {unpacked} = plan\n"
    );
    let names: Vec<String> = (0..outputs).map(|number| format!("out{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        let _ = writeln!(
            text,
            "    {name} = torch.empty_strided(shape{number}, stride{number}, dtype=dtype{number}, device=in0.device)"
        );
    }
    let mut arguments = format!("{}, {}", inputs.join(", "), names.join(", "));
    if with_temporaries {
        arguments.push_str(", *[torch.empty(numel, dtype=dtype, device=in0.device) for numel, dtype in temporaries]");
    }
    let _ = write!(text, "    kernel({arguments}, row)\n    return {}\n", names.join(", "));
    text
}
