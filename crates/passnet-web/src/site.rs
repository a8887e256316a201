//! A site: runs with their suites, tasks and trajectories, a page for each of these, and a path for each page.

mod authors;
mod boards;
mod model;
mod page_id;
mod paths;
mod slug;

pub(crate) use self::model::{GRAPHS_PER_PAGE, SAMPLES_PER_PAGE};
pub use self::{
    model::{Site, SuiteTraits},
    page_id::PageId,
};
