//! The server of pages.

mod guard;
mod response;
mod submissions;

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::Response,
};
use passnet_board::Board;
use passnet_record::ContentId;
use passnet_web::PageId;
use tokio::{net::TcpListener, sync::Semaphore};
use tower_http::compression::CompressionLayer;

pub use self::submissions::SubmitterAddress;
use self::{
    guard::{Decision, RequestGuard},
    response::{allow_questions, respond},
    submissions::Submissions,
};
use crate::{SiteError, bundles::bundle_bytes, live::live_data, shelf::Shelf};

/// Path of the data of the live page.
const LIVE_DATA: &str = "live.json";

/// Content of an answer.
enum ResponseContent {
    Page(String),
    /// The live page, whose script asks for data.
    Live(String),
    Data(String),
    /// The bundle of a run.
    Bundle(Vec<u8>),
}

/// State shared by all requests.
struct Server {
    shelf: Shelf,
    guard: RequestGuard,
    submissions: Option<Submissions>,
    /// Limits the number of pages that are rendered concurrently to the number of cores.
    rendering: Semaphore,
}

/// Serves the pages of a shelf until the process is interrupted. Calls `announce` with the address to open. Except on a
/// loopback address, every client has to send the token; without `token`, a random one is made. With a board, the server
/// accepts submissions for the board and counts them by submitter.
///
/// # Errors
/// If the address cannot be listened on, or `announce` fails.
pub fn serve(
    shelf: Shelf,
    address: SocketAddr,
    token: Option<String>,
    board: Option<(Arc<Board>, SubmitterAddress)>,
    announce: &dyn Fn(&str) -> io::Result<()>,
) -> Result<(), SiteError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Two threads suffice: they only read requests and write replies. Pages are rendered on blocking threads.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(|source| SiteError::Listen { address, source })?;
        let address = listener.local_addr()?;
        let guard = RequestGuard::new(address.ip(), token)?;
        announce(&format!("http://{address}/{}", guard.query()))?;
        let server = Arc::new(Server {
            shelf,
            guard,
            submissions: board.map(|(board, address)| Submissions::new(board, address)),
            rendering: Semaphore::new(cores),
        });
        let router = Router::new().fallback(answer).with_state(server).layer(CompressionLayer::new());
        let served = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>());
        Ok(served.with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) }).await?)
    })
}

/// Answers one request with a page, a redirection or a sentence.
async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    let submission = server.submissions.is_some() && Submissions::takes(&request);
    if !submission && !matches!(*request.method(), Method::GET | Method::HEAD) {
        return sentence(StatusCode::METHOD_NOT_ALLOWED, "pages can only be read");
    }
    match server.guard.admits(&request) {
        Decision::Free => {}
        Decision::Refused(code, why) => return sentence(code, why),
        Decision::Remember(cookie) => {
            let mut response = sentence(StatusCode::SEE_OTHER, "the token is remembered");
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            // One slash: two would lead to another host.
            let to = format!("/{}", request.uri().path().trim_start_matches('/'));
            let to = HeaderValue::from_str(&to).unwrap_or(HeaderValue::from_static("/"));
            response.headers_mut().insert(header::LOCATION, to);
            return response;
        }
    }
    let path = request.uri().path().trim_start_matches('/').to_owned();
    if let Some(submissions) = &server.submissions {
        if submission {
            return submissions.accept(request).await;
        }
        if let Some(document) = submissions.document(&path) {
            return document;
        }
    }
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    // Rendering a large page uses a core and memory. Without a limit, many requests at the same time would use
    // all cores and all memory.
    let Ok(_permit) = server.rendering.acquire().await else {
        return sentence(StatusCode::SERVICE_UNAVAILABLE, "the server is closing");
    };
    let shared = Arc::clone(&server);
    let page = tokio::task::spawn_blocking(move || rendered(&shared.shelf, &path));
    match page.await {
        Ok(Some(ResponseContent::Page(page))) => fresh(page, known.as_ref()),
        Ok(Some(ResponseContent::Live(page))) => {
            let mut response = fresh(page, known.as_ref());
            allow_questions(&mut response);
            response
        }
        Ok(Some(ResponseContent::Data(data))) => respond(StatusCode::OK, "application/json", data),
        Ok(Some(ResponseContent::Bundle(bytes))) => respond(StatusCode::OK, "application/vnd.passnet.bundle", bytes),
        Ok(None) => sentence(StatusCode::NOT_FOUND, "there is no such page"),
        Err(error) => {
            tracing::error!("a page could not be written: {error}");
            sentence(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be written; the server's log says why")
        }
    }
}

/// Returns the content at a path; `None` if there is none.
fn rendered(shelf: &Shelf, path: &str) -> Option<ResponseContent> {
    let shown = shelf.current();
    match PageId::at(path, &shown.site) {
        Some(PageId::Live) => Some(ResponseContent::Live(shown.site.render_live(&shelf.live()?, &shown.library))),
        Some(place) => Some(ResponseContent::Page(shown.page(place))),
        None if path == LIVE_DATA => {
            let runs = shelf.live()?;
            let data = live_data(&runs, shown.site.live_content(&runs));
            Some(ResponseContent::Data(serde_json::to_string(&data).ok()?))
        }
        None => {
            let run = shown.site.bundle_at(path)?;
            let bytes = bundle_bytes(shown.paths.get(run)?);
            bytes.map_err(|error| tracing::warn!("no bundle of {path}: {error}")).ok().map(ResponseContent::Bundle)
        }
    }
}

/// Returns a page, or a reply that the client has the current page. Browsers ask each time, because runs change, but get a page only
/// if it has changed.
fn fresh(page: String, known: Option<&HeaderValue>) -> Response {
    let tag = format!("W/\"{}\"", ContentId::of(page.as_bytes()).short());
    let known = known.and_then(|known| known.to_str().ok()).unwrap_or_default();
    let mut response = if known.split(',').any(|one| one.trim() == tag) {
        respond(StatusCode::NOT_MODIFIED, "text/html; charset=utf-8", String::new())
    } else {
        respond(StatusCode::OK, "text/html; charset=utf-8", page)
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn sentence(code: StatusCode, text: &'static str) -> Response {
    respond(code, "text/plain; charset=utf-8", format!("{text}\n"))
}
