//! From flags to a client.

use std::{
    env,
    net::{SocketAddr, TcpStream, ToSocketAddrs as _},
    time::Duration,
};

use anyhow::Result;
use passnet_agent::client::{ApiKey, ChatApi, ClientOptions, ModelClient};

use crate::{
    environment,
    failure::{unfit, usage},
};
use passnet_flags::ModelArgs;

/// Pause before the first further try.
const BACKOFF: Duration = Duration::from_secs(1);
/// Time in which a server has to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Returns a client of the server that the flags name. Reads the key and removes it from the environment, so that no
/// child process sees it. Call this before any thread is started.
pub(crate) fn client(model: &str, args: &ModelArgs) -> Result<ModelClient> {
    let api = args.api.unwrap_or_else(|| ChatApi::of_model(model, args.base_url.is_some()));
    let (url, variable) = (api.url(), api.key_variable());
    let variable = args.key_env.as_deref().unwrap_or(variable);
    let key = match &args.key_file {
        Some(path) => ApiKey::from_file(path)?,
        // A key in the environment belongs to its provider. Do not send it to any other server.
        None if args.key_env.is_none() && args.base_url.is_some() => ApiKey::default(),
        None => ApiKey::from_env(variable)?,
    };
    environment::forget(&[ChatApi::OpenAi.key_variable(), ChatApi::Anthropic.key_variable(), variable]);
    let base_url = args.base_url.clone().unwrap_or_else(|| url.to_owned());
    if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
        return Err(usage(format!("--base-url {base_url}: an address begins with http:// or https://")));
    }
    check_host(&base_url)?;
    let timeout = Duration::try_from_secs_f64(args.request_timeout)
        .map_err(|error| usage(format!("--request-timeout: {error}")))?;
    Ok(ModelClient::new(ClientOptions {
        model: model.to_owned(),
        base_url,
        api,
        key,
        temperature: args.temperature,
        max_tokens: args.max_tokens,
        text_tools: args.text_tools,
        timeout,
        retries: args.retries,
        backoff: BACKOFF,
        prices: args.price,
    }))
}

/// Fails if no server listens at the address of the flags. Requests are retried for a minute, because a server may be busy or may still
/// start, so this is for commands that work for minutes before their first request.
pub(crate) fn check_server(model: &str, args: &ModelArgs) -> Result<()> {
    let api = args.api.unwrap_or_else(|| ChatApi::of_model(model, args.base_url.is_some()));
    let base_url = args.base_url.as_deref().unwrap_or(api.url());
    if has_proxy() {
        return Ok(());
    }
    let addresses: Vec<SocketAddr> =
        host_and_port(base_url).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let connections = addresses.iter().map(|address| TcpStream::connect_timeout(address, CONNECT));
    match connections.reduce(Result::or) {
        Some(Err(error)) => {
            Err(unfit(format!("there is no server at {base_url}: {error}; start the server, or correct --base-url")))
        }
        _ => Ok(()),
    }
}

/// Returns whether requests go through a proxy, which also resolves names.
fn has_proxy() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let proxies = ["http_proxy", "https_proxy", "all_proxy"];
    proxies.iter().any(|name| is_set(name) || is_set(&name.to_uppercase()))
}

/// Returns the host and the port of an address, as `HOST:PORT`.
fn host_and_port(base_url: &str) -> String {
    let (scheme, rest) = base_url.split_once("://").unwrap_or(("https", base_url));
    let host = rest.split(['/', '?']).next().unwrap_or(rest).rsplit('@').next().unwrap_or(rest);
    let has_port = host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) && host.contains(':');
    let port = if scheme == "http" { 80 } else { 443 };
    if has_port { host.to_owned() } else { format!("{host}:{port}") }
}

/// Refuses an address whose host name cannot be resolved. Requests are retried, because a server may be busy, but retries do not help
/// with an unknown name.
fn check_host(base_url: &str) -> Result<()> {
    if has_proxy() {
        return Ok(());
    }
    match host_and_port(base_url).to_socket_addrs() {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(unfit(format!("{base_url}: no such host ({error}); check --base-url and the network of this machine")))
        }
    }
}
