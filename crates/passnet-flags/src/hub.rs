//! Uploads of a dataset to a hub.

use std::path::PathBuf;

use clap::Args;

/// Flags of `passnet dataset upload`.
#[derive(Args)]
#[command(
    after_help = "The token is read from HF_TOKEN, the address of the hub from HF_ENDPOINT [default: https://huggingface.co].\n\nExample:\n  passnet dataset upload suites/passbench-f hf://datasets/OWNER/passbench-f --dry-run"
)]
pub struct UploadArgs {
    /// Folder of the dataset or suite
    pub dataset: PathBuf,
    /// Repository on the hub, `hf://datasets/OWNER/NAME[/FOLDER]`; created if it does not exist
    pub to: String,
    /// First line of the commit message
    #[arg(long, value_name = "TEXT", default_value = "Upload with passnet dataset upload")]
    pub message: String,
    /// Make the repository private if it is created
    #[arg(long)]
    pub private: bool,
    /// Remove files of tables on the hub that the dataset does not have
    #[arg(long)]
    pub delete: bool,
    /// List the files that would be sent, and send nothing
    #[arg(long)]
    pub dry_run: bool,
}
