//! Resources of evaluations that all threads share.

use std::{io, sync::Arc};

use passnet_record::RunSettings;

use crate::{
    device::{Cores, DeviceLock},
    launcher::Launcher,
    occupancy::Occupancy,
    options::RefereeOptions,
    zygote_config::ZygoteConfig,
};

/// Settings, options, fork server, device and cores of evaluations.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) settings: RunSettings,
    pub(crate) options: RefereeOptions,
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) lock: DeviceLock,
    pub(crate) occupancy: Occupancy,
    pub(crate) cores: Cores,
    /// True if passes share the cache of compiled kernels with other authors.
    pub(crate) shares_kernels: bool,
}

impl Machine {
    pub(crate) fn new(settings: RunSettings, options: RefereeOptions, launcher: Arc<Launcher>) -> io::Result<Self> {
        Ok(Self {
            lock: DeviceLock::new(settings.device),
            occupancy: Occupancy::default(),
            cores: Cores::divide(settings.threads, options.jobs)?,
            settings,
            options,
            launcher,
            shares_kernels: false,
        })
    }
}

/// Returns the launcher of a fork server. If workers will be confined, the fork server gets only the environment variables of an
/// allow-list.
pub(crate) fn launcher(options: &RefereeOptions) -> Arc<Launcher> {
    let clean_environment = options.defences.sandbox;
    Arc::new(Launcher::new(ZygoteConfig { clean_environment, ..options.zygote.clone() }))
}
