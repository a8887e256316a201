//! `passnet dataset upload`: a dataset to a hub.

use std::{env, process::ExitCode, time::Duration};

use anyhow::Result;
use passnet_dataset::hub::{Hub, HubAddress, UploadSettings, upload};
use passnet_flags::UploadArgs;

use super::found::existing;
use crate::{failure::usage, output};

/// Pause after the first failed request.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends files and commits them. The token comes from the environment only, so that no list of processes shows it.
pub(super) fn run(args: &UploadArgs) -> Result<ExitCode> {
    let dataset = existing(&args.dataset)?;
    let to = HubAddress::parse(&args.to).map_err(|error| usage(error.to_string()))?;
    // Services for continuous integration often set a missing secret to the empty text.
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| Hub::PUBLIC.to_owned());
    let hub = Hub::new(&endpoint, &variable("HF_TOKEN").unwrap_or_default()).map_err(|e| usage(e.to_string()))?;
    let (message, private, delete, dry_run) = (args.message.clone(), args.private, args.delete, args.dry_run);
    let settings = UploadSettings { message, private, delete, dry_run, pause: PAUSE };
    let uploaded = upload(&dataset, &to, &hub, &settings, &|step| eprintln!("{step}"))?;
    output::text(&uploaded.to_string())?;
    Ok(ExitCode::SUCCESS)
}
