//! `passnet env serve`: episodes for reinforcement learning.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::ExitCode,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use passnet_agent::{
    Evaluator, Templates, VerdictCache,
    env::{EnvOptions, EnvServer},
};
use passnet_eval::suite::Suite;

use super::{dataset::suite_folder, measure};
use crate::args::{EnvCommand, EnvServeArgs};

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

fn server(args: &EnvServeArgs) -> Result<EnvServer> {
    let suite = Suite::load(&suite_folder(&args.suite)?, &args.selection.selection())?;
    let templates = match &args.prompts {
        Some(directory) => Templates::read(directory).with_context(|| directory.display().to_string())?,
        None => Templates::default(),
    };
    let cache = match &args.cache {
        Some(path) => VerdictCache::open(path)?,
        None => VerdictCache::default(),
    };
    let evaluator = Evaluator::new(measure::referee(&args.measure, args.evaluations)?, cache).with_cpu_tier()?;
    let options = EnvOptions { steps: args.steps, templates, remeasure: !args.no_remeasure };
    Ok(EnvServer::new(suite, evaluator, options))
}

/// One request per line of standard input, one reply per line of standard output, in the order in which they are ready.
fn serve_lines(server: &Arc<EnvServer>) -> Result<()> {
    let places = Arc::new(Places::default());
    let mut threads = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        places.take();
        let (server, places) = (Arc::clone(server), Arc::clone(&places));
        threads.push(std::thread::spawn(move || {
            let reply = server.handle_text(&line) + "\n";
            let mut out = io::stdout().lock();
            // Whoever does not listen any more closes standard input too, which ends the loop.
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
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let (status, body) = if first.starts_with("POST ") && length < MAX_BODY {
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
