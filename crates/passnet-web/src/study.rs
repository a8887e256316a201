//! Study: how often compilers make subgraphs slower, and where the time goes. `docs/reference/study.md` defines the counts.

mod bands;
mod compiler;
mod page;
mod published;
mod share;
mod split;
mod subject;
mod text;

pub use self::{
    bands::Band,
    compiler::CompilerStudy,
    page::study_page,
    published::{PUBLISHED, Published},
    share::Share,
    split::{Part, TimeSplit},
    subject::StudiedGraph,
    text::study_markdown,
};
