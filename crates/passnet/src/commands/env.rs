//! `passnet env serve`: episodes for reinforcement learning.

use std::{
    ffi::OsStr,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::ExitCode,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use clap::{Args as _, FromArgMatches as _};
use passnet_agent::{
    Evaluator, Templates, VerdictCache,
    env::{EnvOptions, EnvServer},
};
use passnet_dataset::open_suite;

use super::referee;
use crate::{
    args::{EnvCommand, EnvServeArgs},
    failure::usage,
};

/// Requests in work at a time.
const MAX_REQUESTS: usize = 256;
/// Bytes of one HTTP request.
const MAX_BODY: u64 = 64 << 20;
/// Longest wait for the rest of an HTTP request.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a subcommand.
pub(crate) fn run(command: &EnvCommand) -> Result<ExitCode> {
    let EnvCommand::Serve(args) = command;
    let server = Arc::new(server(args)?);
    match &args.listen {
        Some(address) => listen(&server, address)?,
        None => serve_lines(&server)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `passnet serve --env SUITE`: the same over HTTP, with what the flags of `passnet env serve` have as defaults.
pub(super) fn serve_suite(suite: &Path, address: SocketAddr) -> Result<ExitCode> {
    if !address.ip().is_loopback() {
        return Err(usage(format!(
            "--host {}: the environment runs the passes that it is sent and asks nobody for a token; choose a loopback \
             address, or `passnet env serve --listen` in a network that you trust",
            address.ip()
        )));
    }
    let address = address.to_string();
    let flags = ["env serve", "--listen", &address, "--"].map(OsStr::new);
    let command = EnvServeArgs::augment_args(clap::Command::new("env serve"));
    let matches = command.try_get_matches_from(flags.into_iter().chain([suite.as_os_str()]))?;
    run(&EnvCommand::Serve(EnvServeArgs::from_arg_matches(&matches)?))
}

fn server(args: &EnvServeArgs) -> Result<EnvServer> {
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let templates = match &args.prompts {
        Some(directory) => Templates::read(directory).with_context(|| directory.display().to_string())?,
        None => Templates::default(),
    };
    let cache = match &args.cache {
        Some(path) => VerdictCache::open(path)?,
        None => VerdictCache::default(),
    };
    let evaluator = Evaluator::new(referee::start(&args.measure, args.evaluations)?, cache).with_cpu_precheck()?;
    let options = EnvOptions { steps: args.steps, templates, remeasure: !args.no_remeasure };
    Ok(EnvServer::new(suite, evaluator, options))
}

/// One request per line of standard input, one reply per line of standard output, in the order in which they are ready.
fn serve_lines(server: &Arc<EnvServer>) -> Result<()> {
    let places = Arc::new(Places::default());
    let mut threads = Vec::new();
    for line in io::stdin().lock().split(b'\n') {
        // Bytes that are not UTF-8 do not end the loop: the line gets a reply like any other, and other sessions continue.
        let line = String::from_utf8_lossy(&line?).into_owned();
        if line.trim().is_empty() {
            continue;
        }
        places.take();
        let (server, places) = (Arc::clone(server), Arc::clone(&places));
        threads.push(std::thread::spawn(move || {
            let reply = server.handle_text(&line) + "\n";
            let mut out = io::stdout().lock();
            // A client that stops reading also closes standard input, which ends the loop.
            let _ = out.write_all(reply.as_bytes()).and_then(|()| out.flush());
            places.give();
        }));
        threads.retain(|thread| !thread.is_finished());
    }
    for thread in threads {
        let _ = thread.join();
    }
    Ok(())
}

/// HTTP: the body of a POST is a request, the body of the answer its reply.
fn listen(server: &Arc<EnvServer>, address: &str) -> Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    println!("http://{}", listener.local_addr()?);
    io::stdout().flush()?;
    let places = Arc::new(Places::default());
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        places.take();
        let (server, places) = (Arc::clone(server), Arc::clone(&places));
        std::thread::spawn(move || {
            if let Err(error) = answer(&server, stream) {
                tracing::debug!("a request was not answered: {error}");
            }
            places.give();
        });
    }
    Ok(())
}

fn answer(server: &EnvServer, stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?.take(MAX_BODY));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let (mut length, mut of_browser) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
        of_browser |= name.eq_ignore_ascii_case("origin");
    }
    let (status, body) = if of_browser {
        // A page of somebody else's may not run passes here.
        ("403 Forbidden", "{\"error\": \"pages of a browser are not served\"}".to_owned())
    } else if first.starts_with("POST ") && length < MAX_BODY {
        let mut body = Vec::new();
        reader.take(length).read_to_end(&mut body)?;
        ("200 OK", server.handle_text(&String::from_utf8_lossy(&body)))
    } else {
        ("405 Method Not Allowed", "{\"error\": \"POST a request as JSON\"}".to_owned())
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Bounds the requests in work.
#[derive(Default)]
struct Places {
    taken: Mutex<usize>,
    changed: Condvar,
}

impl Places {
    fn take(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= MAX_REQUESTS {
            taken = self.changed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
    }

    fn give(&self) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.changed.notify_one();
    }
}
