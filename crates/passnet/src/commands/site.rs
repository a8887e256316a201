//! `passnet site`: every page as a file.

use std::process::ExitCode;

use anyhow::Result;
use passnet_record::counted;
use passnet_site::{SiteSize, publish};

use crate::failure::check_folder;
use passnet_flags::SiteArgs;

/// Writes the pages.
pub(crate) fn run(args: &SiteArgs) -> Result<ExitCode> {
    check_folder(&args.out)?;
    let SiteSize { pages, bytes } =
        publish(&args.out, &args.runs, &args.extra.extras(), &|remark| eprintln!("{remark}"))?;
    let pages = counted(pages, "page");
    eprintln!("wrote {pages}, {:.1} MB; open {}", bytes as f64 / 1e6, args.out.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}
