//! C++ for CPUs: one source for all sites. Each site calls the functions of the source with a row of a table of sizes.

use std::fmt::Write;

use super::{
    lines::{literals, unpacked, wrapped, wrapped_python},
    target_code::{TargetCode, device, has_temporaries},
};
use crate::{
    back::{
        print::{
            cpp::{self, functions::CppFunction, preamble},
            merge::{Skeleton, merge, split},
        },
        tuning::{Choices, config_of},
    },
    plan::{config::nests_of, site::PassSite, stage::Program},
};

pub(super) fn parts(sites: &[PassSite], choices: &Choices) -> TargetCode {
    let kernels = Kernels::of(sites, choices);
    let region = &sites[0].region;
    let is_shared = kernels.is_shared;
    let mut launch = String::new();
    let mut arguments: Vec<String> = (0..region.inputs.len()).map(|number| format!("in{number}")).collect();
    arguments.extend((0..region.allocated().count()).map(|number| format!("out{number}")));
    if sites.iter().any(has_temporaries) {
        let memory =
            format!("[torch.empty(numel, dtype=dtype, device={}) for numel, dtype in temporaries]", device(&sites[0]));
        arguments.push(if is_shared { "*memory".to_owned() } else { format!("*{memory}") });
        if is_shared {
            let _ = writeln!(launch, "    memory = {memory}");
        }
    }
    let arguments = arguments.join(", ");
    let _ = if is_shared {
        write!(launch, "    for kernel, row, parts in calls:\n        kernel({arguments}, row, 0, parts)\n")
    } else {
        writeln!(launch, "    kernel({arguments}, row)")
    };
    let (columns, names) = if is_shared {
        ("kernels with the row of their sizes and the number of their parts, ", vec!["calls".to_owned()])
    } else {
        ("kernel, row of its sizes, ", vec!["kernel".to_owned(), "row".to_owned()])
    };
    let entries = |calls: &Vec<KernelCall>| {
        if is_shared {
            let calls: Vec<String> = calls.iter().map(KernelCall::entry).collect();
            return vec![format!("({},)", calls.join(", "))];
        }
        vec![calls[0].kernel.clone(), calls[0].row.to_string()]
    };
    TargetCode {
        title: "One loop nest".to_owned(),
        imports: "\nfrom passnet import kernels\n".to_owned(),
        kernels: kernels.text,
        entries: kernels.of_site.iter().map(entries).collect(),
        columns: columns.to_owned(),
        names,
        refuses: if region.inputs.is_empty() { "" } else { " or in0.is_cuda" },
        launch,
        returned: None,
    }
}

/// The C++ source of a pass, and the functions and rows of sizes that each site uses.
struct Kernels {
    text: String,
    /// Calls of each site, in order. All sites have the same number of calls.
    of_site: Vec<Vec<KernelCall>>,
    /// True if the work of a call is divided into parts. The functions then take a range of parts.
    is_shared: bool,
}

/// A call of a function.
struct KernelCall {
    kernel: String,
    /// Row of its sizes.
    row: usize,
    /// Number of parts into which the work is divided for threads.
    parts: i64,
}

impl KernelCall {
    /// Returns the function and the arguments that follow its tensors, as Python text.
    fn entry(&self) -> String {
        format!("({}, {}, {})", self.kernel, self.row, self.parts)
    }
}

/// A function for sites whose code differs in sizes only.
struct MergedFunction {
    skeleton: Skeleton,
    parameters: Vec<String>,
    /// Distinct sizes of the sites, one row each.
    rows: Vec<Vec<i64>>,
}

impl MergedFunction {
    /// Returns the table of sizes with the function, and the declaration of the function.
    fn print(&self, number: usize, is_shared: bool, sites: &[PassSite]) -> (String, String) {
        let Self { skeleton, parameters, rows } = self;
        let mut source = String::new();
        let merged = merge(skeleton, rows);
        let columns = merged.rows[0].len();
        if columns > 0 {
            let row = |row: &Vec<i64>| format!("{{{}}}", row.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
            let rows: Vec<String> = merged.rows.iter().map(row).collect();
            let (count, rows) = (rows.len(), rows.join(", "));
            let _ = writeln!(source, "constexpr int64_t sizes{number}[{count}][{columns}] = {{{rows}}};\n");
        }
        let range = if is_shared { ", int64_t begin, int64_t end" } else { "" };
        let _ = writeln!(source, "extern \"C\" void kernel{number}({}, int64_t row{range}) {{", parameters.join(", "));
        for column in 0..columns {
            let _ = writeln!(source, "    const int64_t n{column} = sizes{number}[row][{column}];");
        }
        let _ = writeln!(source, "{}}}\n", merged.text);
        (source, signature(number, parameters, is_shared, sites))
    }
}

impl Kernels {
    fn of(sites: &[PassSite], choices: &Choices) -> Self {
        let programs: Vec<_> = sites.iter().filter_map(|site| Some((site, site.program()?))).collect();
        let functions_of = |divides: bool| -> Vec<Vec<CppFunction>> {
            let of = |(site, program): &(&PassSite, &Program)| {
                cpp::functions::functions(program, nests_of(config_of(site, choices)), divides)
            };
            programs.iter().map(of).collect()
        };
        let mut all = functions_of(true);
        // All rows of a table have the same number of calls, because lint rules can only follow such tables.
        if all.iter().any(|of_program| of_program.len() != all[0].len()) {
            all = functions_of(false);
        }
        let is_shared = all.iter().any(|of_program| of_program.len() > 1 || of_program[0].parts > 1);
        let mut functions: Vec<MergedFunction> = Vec::new();
        let mut of_site = Vec::new();
        for ((_, program), of_program) in programs.iter().zip(&all) {
            of_site.push(of_program.iter().map(|one| call(&mut functions, program, one)).collect());
        }
        Self { text: source(&functions, is_shared, sites), of_site, is_shared }
    }
}

/// Returns the call of a function. Adds the function, unless a known function differs from it in sizes only.
fn call(functions: &mut Vec<MergedFunction>, program: &Program, function: &CppFunction) -> KernelCall {
    let (skeleton, sizes) = split(&function.body);
    let parameters = cpp::parameters(program);
    // Graphs of a task mostly differ in sizes only. One function with a table of sizes keeps the source short. Compiling the
    // source takes most of the time that a pass needs before its first call.
    let is_same = |known: &MergedFunction| known.skeleton == skeleton && known.parameters == parameters;
    let known = functions.iter().position(is_same);
    let number = known.unwrap_or_else(|| {
        functions.push(MergedFunction { skeleton, parameters, rows: Vec::new() });
        functions.len() - 1
    });
    // Equal sizes share a row.
    let rows = &mut functions[number].rows;
    let row = rows.iter().position(|row| *row == sizes).unwrap_or_else(|| {
        rows.push(sizes);
        rows.len() - 1
    });
    KernelCall { kernel: format!("kernel{number}"), row, parts: function.parts }
}

/// Returns the C++ source with all functions, as Python.
fn source(functions: &[MergedFunction], is_shared: bool, sites: &[PassSite]) -> String {
    let mut source = String::from(preamble::START);
    let mut names: Vec<String> = Vec::new();
    let mut quoted: Vec<String> = Vec::new();
    for (number, function) in functions.iter().enumerate() {
        let (text, signature) = function.print(number, is_shared, sites);
        source.push_str(&wrapped(&text));
        names.push(format!("kernel{number}"));
        quoted.push(literals(&signature));
    }
    // One blank line is enough at the end.
    source.truncate(source.trim_end().len());
    source.push('\n');
    let programs: Vec<&Program> = sites.iter().filter_map(PassSite::program).collect();
    let flags: Vec<String> = preamble::flags(&programs).map(|flag| format!("\"{flag}\"")).collect();
    let target = match names.as_slice() {
        [name] => name.clone(),
        _ => unpacked(&names, "kernels".len()),
    };
    let call = wrapped_python(&format!("{target} = kernels.cpp(\n"));
    format!(
        "SOURCE = \"\"\"\n{source}\"\"\"\n\n{call}    SOURCE,\n{}    flags=({}),\n)\n\n",
        quoted.concat(),
        flags.join(", "),
    )
}

/// Returns the declaration of a kernel for the helper that calls it. The helper refuses a tensor with strides unless its
/// parameter is marked.
fn signature(number: usize, parameters: &[String], is_shared: bool, sites: &[PassSite]) -> String {
    let is_strided = |place: usize| {
        sites.iter().any(|site| {
            let inputs = &site.region.inputs;
            let result = || site.region.allocated().nth(place - inputs.len()).map(|result| &result.ty);
            let ty = inputs.get(place).map_or_else(result, |input| Some(&input.ty));
            ty.is_some_and(|ty| !ty.is_contiguous())
        })
    };
    // If no graph passes strides, one check for each tensor is enough: that it is contiguous. So strides are passed only where
    // some graph needs them.
    let marked = parameters.iter().enumerate().map(|(place, parameter)| {
        if is_strided(place) { parameter.replacen("* ", "* strided ", 1) } else { parameter.clone() }
    });
    let range = if is_shared { ", parallel int64_t begin, int64_t end" } else { "" };
    format!("void kernel{number}({}, int64_t row{range})", marked.collect::<Vec<_>>().join(", "))
}
