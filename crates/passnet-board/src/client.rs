//! Client that submits a bundle to a board.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use passnet_record::{BoardReply, ContentId, ResultStatement, SubmissionState};
use passnet_run::read_input;
use ureq::Agent;

use crate::{
    error::{BoardError, SubmissionRefusal},
    limits::{Limits, MAX_BUNDLE},
    signature::{SignatureError, verify},
    store::{PUBLIC_KEY, deposit, passes, read},
};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Pause between two requests for the state of a submission.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Largest number of bytes of an answer. The address may be that of any server, and its answer may have no end.
const MAX_ANSWER: u64 = 1 << 20;

/// An error of submitting a bundle.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The bundle cannot be read.
    #[error("{path}: {source}")]
    Read {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no file at the path.
    #[error("{path}: there is no such file; name a bundle (`passnet bundle RUN --out run.pnb` makes one)")]
    Missing { path: PathBuf },
    /// The path is a run and not a bundle.
    #[error("{path} is a directory; `passnet bundle {path} --out run.pnb` makes a bundle of a run")]
    Directory { path: PathBuf },
    /// The folder does not belong to a board. A server needs its whole address, with `https://`.
    #[error(
        "{path} is not the folder of a board: it has no `key.pub`; give the address of a server with https://, or make a board with `passnet board`"
    )]
    NoBoard { path: PathBuf },
    /// The bundle is refused before it is sent.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The board cannot be reached.
    #[error("cannot reach the board at {url}: {message}; check the address, and that the board runs")]
    Unreachable {
        /// Address of the board.
        url: String,
        message: String,
    },
    /// The board refused the bundle.
    #[error("{url} refused the bundle ({code}): {message}")]
    Refused {
        /// Address of the board.
        url: String,
        /// Status code of HTTP.
        code: u16,
        /// The board's reason.
        message: String,
    },
    /// The answer is not that of a board.
    #[error("{url} does not answer like a board: {message}; check the address")]
    BoardReply {
        /// Address of the board.
        url: String,
        message: String,
    },
    /// The board had not evaluated the bundle by the deadline.
    #[error("the board at {url} has not evaluated the submission yet; repeat the command to wait again")]
    Waiting {
        /// Address of the board.
        url: String,
    },
    /// The result carries no valid signature.
    #[error("the result is not authentic: {0}")]
    Signature(#[from] SignatureError),
}

/// Destination of submissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Address of a board.
    Url(String),
    /// Folder of a board, or a checkout of the repository that holds the folder.
    Folder(PathBuf),
}

impl Destination {
    /// Reads an address, or else a path.
    pub fn parse(text: &str) -> Self {
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        if is_url { Self::Url(text.trim_end_matches('/').to_owned()) } else { Self::Folder(text.into()) }
    }
}

/// Verifies a bundle and submits it to a board. Returns the id of the submission, which is the id of the bundle.
///
/// # Errors
/// If the bundle is damaged or a board cannot evaluate it, or the board cannot be reached or refuses it.
pub fn submit(bundle: &Path, to: &Destination, token: Option<&str>) -> Result<ContentId, SubmitError> {
    if bundle.is_dir() {
        return Err(SubmitError::Directory { path: bundle.to_owned() });
    }
    if !bundle.exists() {
        return Err(SubmitError::Missing { path: bundle.to_owned() });
    }
    let failed = |source| SubmitError::Read { path: bundle.to_owned(), source };
    // The size is checked first, because the path may name any file, and the content is read into memory below.
    if std::fs::metadata(bundle).map_err(failed)?.len() > MAX_BUNDLE as u64 {
        return Err(refused(SubmissionRefusal::TooLarge { most: MAX_BUNDLE }));
    }
    let bytes = read_input(bundle).map_err(failed)?;
    let url = match to {
        // Without this check, a mistyped address would become a new folder with a bundle that no board evaluates.
        Destination::Folder(folder) if !folder.join(PUBLIC_KEY).is_file() => {
            return Err(SubmitError::NoBoard { path: folder.clone() });
        }
        Destination::Folder(folder) => return Ok(deposit(folder, &bytes, &Limits::default())?),
        Destination::Url(url) => url,
    };
    // The board makes the same checks. Making them here reports an error before the upload.
    passes(&read(bundle).map_err(refused)?).map_err(refused)?;
    let mut request = agent().post(format!("{url}/submit")).content_type("application/vnd.passnet.bundle");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let (code, text) = text_of(url, request.send(bytes.as_slice()))?;
    let answer: Option<BoardReply> = serde_json::from_str(&text).ok();
    match (code, answer) {
        (202, Some(BoardReply { id: Some(id), .. })) => Ok(id),
        (_, Some(BoardReply { error: Some(message), .. })) => {
            Err(SubmitError::Refused { url: url.clone(), code, message })
        }
        (400.., _) => Err(SubmitError::Refused { url: url.clone(), code, message: text.trim().to_owned() }),
        _ => Err(SubmitError::BoardReply { url: url.clone(), message: format!("status {code}") }),
    }
}

/// Waits until a submission is evaluated, and verifies the signature of its result. An inner `Err` holds the reason for which the
/// board does not show the result.
///
/// # Errors
/// If the board cannot be reached, does not know the submission or has not evaluated it by `deadline`, or if the signature is not
/// valid or not made with the expected key.
pub fn wait(
    url: &str,
    id: &ContentId,
    token: Option<&str>,
    key: Option<&str>,
    deadline: Instant,
) -> Result<Result<ResultStatement, String>, SubmitError> {
    let agent = agent();
    loop {
        let mut request = agent.get(format!("{url}/submission/{id}.json"));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let (code, text) = text_of(url, request.call())?;
        let problem = |message: String| SubmitError::BoardReply { url: url.to_owned(), message };
        if code != 200 {
            return Err(problem(format!("status {code}: {}", text.trim())));
        }
        match serde_json::from_str(&text).map_err(|error| problem(error.to_string()))? {
            SubmissionState::Shown(result) => return Ok(Ok(verify(&result, key)?)),
            SubmissionState::Refused { reason } => return Ok(Err(reason)),
            SubmissionState::Waiting if Instant::now() > deadline => {
                return Err(SubmitError::Waiting { url: url.to_owned() });
            }
            SubmissionState::Waiting => std::thread::sleep(ASK_EVERY),
        }
    }
}

fn refused(refusal: SubmissionRefusal) -> SubmitError {
    SubmitError::Board(refusal.into())
}

/// Returns a client that follows no redirection, so that the token is sent to the named server only.
fn agent() -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(TIMEOUT))
        .user_agent(concat!("passnet/", env!("CARGO_PKG_VERSION")))
        .build();
    config.into()
}

fn text_of(
    url: &str,
    answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<(u16, String), SubmitError> {
    let failed = |error: ureq::Error| SubmitError::Unreachable { url: url.to_owned(), message: error.to_string() };
    let mut answer = answer.map_err(failed)?;
    let code = answer.status().as_u16();
    Ok((code, answer.body_mut().with_config().limit(MAX_ANSWER).read_to_string().map_err(failed)?))
}
