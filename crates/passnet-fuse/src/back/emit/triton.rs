//! Triton for CUDA devices: kernels whose sizes are constants of their compilation.

use std::fmt::Write;

use super::{
    lines::{unpacked, wrapped_python},
    target_code::{TargetCode, device},
};
use crate::{
    back::{
        print::{
            merge::{Skeleton, merge, split},
            triton,
        },
        tuning::{Choices, config_of},
    },
    plan::{config::tiles_of, site::PassSite, stage::Role},
};

/// Sites whose kernels differ in sizes only.
#[derive(Debug)]
struct KernelVariant {
    kernels: Vec<Skeleton>,
    /// Names of the buffers that each kernel takes.
    buffers: Vec<Vec<String>>,
    /// Number of buffers between kernels.
    temporaries: usize,
    /// Sizes, for each site and each kernel.
    sizes: Vec<Vec<Vec<i64>>>,
    /// Number of programs and of warps of each kernel, in the order of `sizes`.
    grids: Vec<Vec<[i64; 2]>>,
}

/// Returns the variants of the sites' kernels and, for each site, the number of its variant and the position of the site in it.
fn variants(sites: &[PassSite], choices: &Choices) -> (Vec<KernelVariant>, Vec<(usize, usize)>) {
    let mut variants: Vec<KernelVariant> = Vec::new();
    let mut of_site: Vec<(usize, usize)> = Vec::new();
    for (site, program) in sites.iter().filter_map(|site| Some((site, site.program()?))) {
        let kernels = triton::kernels(program, tiles_of(config_of(site, choices)));
        let (skeletons, sizes): (Vec<Skeleton>, Vec<Vec<i64>>) =
            kernels.iter().map(|kernel| split(&kernel.body)).unzip();
        let buffers: Vec<Vec<String>> = kernels.iter().map(|kernel| kernel.buffers.clone()).collect();
        let temporaries = program.buffers.iter().filter(|buffer| matches!(buffer.role, Role::Temporary(_))).count();
        // Sizes are constants of the compilation, so sites that share a text lose no speed. Sharing keeps the file readable.
        let known = variants.iter().position(|known| known.kernels == skeletons && known.buffers == buffers);
        let number = known.unwrap_or_else(|| {
            variants.push(KernelVariant {
                kernels: skeletons,
                buffers,
                temporaries,
                sizes: Vec::new(),
                grids: Vec::new(),
            });
            variants.len() - 1
        });
        let variant = &mut variants[number];
        of_site.push((number, variant.sizes.len()));
        variant.sizes.push(sizes);
        variant.grids.push(kernels.iter().map(|kernel| [kernel.programs, kernel.warps]).collect());
    }
    (variants, of_site)
}

/// Returns the kernels, preceded by the functions that they call.
fn with_helpers(mut kernels: String) -> String {
    let helpers = [
        ("smaller", triton::SMALLER),
        ("larger", triton::LARGER),
        ("leading(", triton::LEADING),
        ("inverse_root(", triton::INVERSE_ROOT),
        ("logarithm(", triton::LOGARITHM),
        ("power_minus_1(", triton::POWER_MINUS_1),
        ("logarithm_of_1_plus(", triton::LOGARITHM_OF_1_PLUS),
    ];
    for (name, helper) in helpers {
        if kernels.contains(name) {
            kernels.insert_str(0, helper);
        }
    }
    kernels
}

pub(super) fn parts(sites: &[PassSite], choices: &Choices) -> TargetCode {
    let (variants, of_site) = variants(sites, choices);
    let printed: Vec<Printed> =
        variants.iter().enumerate().map(|(number, variant)| print(number, variant, device(&sites[0]))).collect();
    let several = printed.len() > 1;
    let kernels: String = printed.iter().map(|variant| variant.kernels.as_str()).collect();
    let kernels = wrapped_python(&with_helpers(kernels));
    let launches: usize = variants.iter().map(|variant| variant.kernels.len()).max().unwrap_or(0);
    let entry = |(variant, place): (usize, usize)| {
        let entry = printed[variant].rows[place].clone();
        if !several {
            return entry;
        }
        let numbers = if entry.is_empty() { "()".to_owned() } else { format!("({},)", entry.join(", ")) };
        vec![variant.to_string(), numbers]
    };
    let entries = of_site.into_iter().map(entry).collect();
    let libdevice = if kernels.contains("libdevice.") { "from triton.language.extra import libdevice\n" } else { "" };
    TargetCode {
        title: if launches == 1 { "One kernel".to_owned() } else { format!("{launches} kernels") },
        imports: format!("import triton\nimport triton.language as tl\n{libdevice}\nfrom passnet import kernels\n"),
        kernels,
        columns: "numbers of programs and warps, sizes; ".to_owned(),
        names: if several { vec!["variant".to_owned(), "numbers".to_owned()] } else { printed[0].names.clone() },
        entries,
        refuses: "",
        launch: launch(&printed, several),
        returned: None,
    }
}

/// A variant as text.
struct Printed {
    kernels: String,
    launch: Vec<String>,
    /// Names of the values that differ between sites.
    names: Vec<String>,
    /// For each site, the values for `names`.
    rows: Vec<Vec<String>>,
}

fn print(number: usize, variant: &KernelVariant, device: &str) -> Printed {
    let mut printed = Printed {
        kernels: String::new(),
        launch: Vec::new(),
        names: Vec::new(),
        rows: vec![Vec::new(); variant.sizes.len()],
    };
    for temporary in 0..variant.temporaries {
        printed.launch.push(format!(
            "numel, dtype = temporaries[{temporary}]\ntemp{temporary} = torch.empty(numel, dtype=dtype, device={device})"
        ));
    }
    for (place, skeleton) in variant.kernels.iter().enumerate() {
        let name = format!("kernel{number}_{place}").trim_end_matches("_0").to_owned();
        let sizes: Vec<Vec<i64>> = variant.sizes.iter().map(|site| site[place].clone()).collect();
        let merged = merge(skeleton, &sizes);
        let buffers = variant.buffers[place].join(", ");
        let columns: Vec<String> = (0..merged.rows[0].len()).map(|column| format!("n{column}")).collect();
        let constants: String = columns.iter().map(|name| format!(", {name}: tl.constexpr")).collect();
        let _ = write!(
            printed.kernels,
            "@kernels.triton\n@triton.jit\ndef {name}({buffers}{constants}):\n{}\n\n",
            merged.text
        );
        let mut arguments = buffers;
        for (column, own) in columns.iter().enumerate() {
            let values: Vec<i64> = merged.rows.iter().map(|row| row[column]).collect();
            let _ = write!(arguments, ", {}", printed.number(&format!("{own}_{place}"), &values));
        }
        let grid: Vec<i64> = variant.grids.iter().map(|site| site[place][0]).collect();
        let warps: Vec<i64> = variant.grids.iter().map(|site| site[place][1]).collect();
        let (grid, warps) =
            (printed.number(&format!("programs{place}"), &grid), printed.number(&format!("warps{place}"), &warps));
        // Triton compiles assertions in debug mode only. Debug mode would also assert that no sum overflows.
        let mode = if merged.text.contains("device_assert") { ", debug=True, sanitize_overflow=False" } else { "" };
        printed.launch.push(format!("{name}[({grid},)]({arguments}, num_warps={warps}{mode})"));
    }
    printed
}

impl Printed {
    /// Returns a number as text: the number itself if it is the same for all sites, else a name to which the table gives a
    /// value.
    fn number(&mut self, name: &str, values: &[i64]) -> String {
        // A number in the text needs no entry in the table, and unpacking a shorter tuple is faster.
        if values.iter().all(|value| *value == values[0]) {
            return values[0].to_string();
        }
        for (row, value) in self.rows.iter_mut().zip(values) {
            row.push(value.to_string());
        }
        self.names.push(name.to_owned());
        name.to_owned()
    }
}

/// Returns the lines that launch the kernels. If there are several variants, the plan names the one to launch.
fn launch(printed: &[Printed], several: bool) -> String {
    let mut text = String::new();
    for (number, variant) in printed.iter().enumerate() {
        let mut indent = "    ";
        if several {
            let _ = writeln!(text, "    {}if variant == {number}:", if number == 0 { "" } else { "el" });
            indent = "        ";
            if let [name] = variant.names.as_slice() {
                let _ = writeln!(text, "{indent}{name} = numbers[0]");
            } else if !variant.names.is_empty() {
                let _ = writeln!(text, "{indent}{} = numbers", unpacked(&variant.names, indent.len()));
            }
        }
        for line in variant.launch.iter().flat_map(|lines| lines.lines()) {
            let _ = writeln!(text, "{indent}{line}");
        }
    }
    text
}
