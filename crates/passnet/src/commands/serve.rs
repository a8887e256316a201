//! `passnet serve`: the pages of a folder of runs, for a browser; with `--env` the training environment instead.

mod guard;
mod shelf;

use std::{net::SocketAddr, process::ExitCode, sync::Arc};

use anyhow::{Context, Result};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::Response,
};
use passnet_web::{PageId, content_security_policy};
use tokio::{net::TcpListener, sync::Semaphore};

use self::{
    guard::{Entry, Guard},
    shelf::Shelf,
};
use crate::{args::ServeArgs, failure::unfit, output};

/// State shared by all requests.
struct Server {
    shelf: Shelf,
    guard: Guard,
    /// Limits the number of pages that are rendered concurrently to the number of cores.
    rendering: Semaphore,
}

/// Serves until it is interrupted.
pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode> {
    if let Some(suite) = &args.env {
        return super::env::serve_suite(suite, SocketAddr::new(args.host, args.port));
    }
    let shelf = Shelf::open(&args.runs, &args.extra)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let address = SocketAddr::new(args.host, args.port);
        let listener =
            TcpListener::bind(address).await.map_err(|error| unfit(format!("cannot listen on {address}: {error}")))?;
        let address = listener.local_addr()?;
        let guard = Guard::new(address.ip(), args.token.clone())?;
        output::text(&format!("http://{address}/{}", guard.query()))?;
        let server = Arc::new(Server { shelf, guard, rendering: Semaphore::new(cores) });
        let router = Router::new().fallback(answer).with_state(server);
        axum::serve(listener, router)
            .with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) })
            .await
            .context("the server ended")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Answers one request with a page, a redirection or a sentence.
async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return sentence(StatusCode::METHOD_NOT_ALLOWED, "pages can only be read");
    }
    match server.guard.admits(&request) {
        Entry::Free => {}
        Entry::Refused(code, why) => return sentence(code, why),
        Entry::Remember(cookie) => {
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
    let Ok(_permit) = server.rendering.acquire().await else {
        return sentence(StatusCode::SERVICE_UNAVAILABLE, "the server is closing");
    };
    let shared = Arc::clone(&server);
    let page = tokio::task::spawn_blocking(move || {
        let shown = shared.shelf.current();
        PageId::at(&path, &shown.site).map(|place| shown.site.render(place, &shown.library))
    });
    match page.await {
        Ok(Some(page)) => respond(StatusCode::OK, "text/html; charset=utf-8", page),
        Ok(None) => sentence(StatusCode::NOT_FOUND, "there is no such page"),
        Err(error) => {
            tracing::error!("a page could not be written: {error}");
            sentence(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be written; the server's log says why")
        }
    }
}

fn sentence(code: StatusCode, text: &'static str) -> Response {
    respond(code, "text/plain; charset=utf-8", format!("{text}\n"))
}

fn respond(code: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&content_security_policy()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
