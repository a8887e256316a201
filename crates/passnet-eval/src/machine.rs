//! The resources of evaluations that all threads share.

use std::{io, sync::Arc};

use passnet_record::RunSettings;

use crate::{
    device::{Cores, DeviceLock},
    launcher::Launcher,
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
    pub(crate) cores: Cores,
    /// Passes share the cache of compiled kernels with the other authors.
    pub(crate) shares_kernels: bool,
}

impl Machine {
    pub(crate) fn new(settings: RunSettings, options: RefereeOptions, launcher: Arc<Launcher>) -> io::Result<Self> {
        Ok(Self {
            lock: DeviceLock::new(settings.device),
            cores: Cores::divide(settings.threads, options.jobs)?,
            settings,
            options,
            launcher,
            shares_kernels: false,
        })
    }
}

/// Returns a fork server that hides environment variables from workers that will be confined.
pub(crate) fn launcher(options: &RefereeOptions) -> Arc<Launcher> {
    let clean_environment = options.defences.sandbox;
    Arc::new(Launcher::new(ZygoteConfig { clean_environment, ..options.zygote.clone() }))
}
