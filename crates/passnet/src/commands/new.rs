//! `passnet new`: a pass directory to begin with, for one task.

use std::process::ExitCode;

use anyhow::Result;
use fs_err as fs;
use passnet_author::{Scaffold, Target, scaffold, write_pass_directory};
use passnet_dataset::open_suite;
use passnet_run::Selection;
use passnet_services::Interpreter;

use crate::{
    failure::{check_folder, usage},
    output::{self, shell_word},
};
use passnet_flags::NewArgs;

/// Writes the passes of a task with plain kernels. If there are none, prints the reason and leaves the replacement to the user.
pub(crate) fn run(args: &NewArgs) -> Result<ExitCode> {
    check_folder(&args.out)?;
    let suite = open_suite(&args.task, &Selection::default())?;
    let [task] = suite.record.tasks.as_slice() else {
        let count = suite.record.tasks.len();
        return Err(usage(format!(
            "{}: this is a suite of {count} tasks; name the folder of one",
            args.task.display()
        )));
    };
    // The folder may have kernels that a user wrote and did not commit.
    if args.out.exists() && fs::read_dir(&args.out)?.next().is_some() {
        return Err(usage(format!("{}: already exists; name a new folder", args.out.display())));
    }
    let Scaffold { passes, to_do } = scaffold(&Interpreter::find(), &suite, task, args.device)?;
    let names = write_pass_directory(&args.out, &passes)?;
    let out = args.out.display();
    let device = if args.device == Target::Cpu { "" } else { " --device cuda" };
    let next = match to_do {
        None => "the generated kernels are correct; make them faster",
        Some(why) => {
            eprintln!("no kernel is generated: {why}");
            "write the replacement"
        }
    };
    output::text(&format!(
        "wrote {} to {out}\nnext: {next}, then `passnet eval {} --passes {}{device} --watch`",
        names.join(", "),
        shell_word(&args.task),
        shell_word(&args.out),
    ))?;
    Ok(ExitCode::SUCCESS)
}
