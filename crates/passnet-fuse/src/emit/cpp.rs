//! C++ for processors: one source for all sites, its functions called with the row of a table of sizes.

use std::fmt::Write;

use super::{Parts, device, has_temporaries, relay};
use crate::{
    author::Site,
    print::{
        cpp,
        merge::{Skeleton, merge, split},
    },
};

/// `copies` says that inputs may have to be copied to another layout.
pub(super) fn parts(sites: &[Site], copies: bool) -> Parts {
    let kernels = Kernels::of(sites, copies);
    let region = &sites[0].region;
    let mut arguments: Vec<String> = (0..region.inputs.len()).map(|number| format!("in{number}")).collect();
    arguments.extend((0..region.allocated().count()).map(|number| format!("out{number}")));
    if sites.iter().any(has_temporaries) {
        arguments.push(format!(
            "*[torch.empty(numel, dtype=dtype, device={}) for numel, dtype in temporaries]",
            device(&sites[0])
        ));
    }
    Parts {
        title: "One loop nest".to_owned(),
        imports: "\nfrom passnet import kernels\n".to_owned(),
        kernels: kernels.text,
        columns: "kernel, row of its sizes, ".to_owned(),
        names: vec!["kernel".to_owned(), "row".to_owned()],
        entries: kernels.of_site.into_iter().map(|(kernel, row)| vec![kernel, row.to_string()]).collect(),
        refuses: if region.inputs.is_empty() { "" } else { " or in0.is_cuda" },
        launch: format!("    kernel({}, row)\n", arguments.join(", ")),
        returned: None,
    }
}

/// The C++ source of a pass, and which function and which row of its sizes each site takes.
struct Kernels {
    text: String,
    /// Name of the function and row, for each site.
    of_site: Vec<(String, usize)>,
}

impl Kernels {
    fn of(sites: &[Site], copies: bool) -> Self {
        let mut skeletons: Vec<(Skeleton, Vec<String>, Vec<Vec<i64>>)> = Vec::new();
        let mut of_site = Vec::new();
        for site in sites {
            let (skeleton, sizes) = split(&cpp::body(site.program(), site.config.nests()));
            let parameters = cpp::parameters(site.program());
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
        let mut names: Vec<String> = (0..skeletons.len()).map(|number| format!("kernel{number}")).collect();
        let mut quoted: Vec<String> = signatures.iter().map(|signature| format!("    \"{signature}\",\n")).collect();
        if copies {
            source.push_str(relay::COPY_ELEMENTS);
            names.push("copy_elements".to_owned());
            quoted.push(relay::COPY_SIGNATURE.to_owned());
        }
        source.push_str(cpp::END);
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
