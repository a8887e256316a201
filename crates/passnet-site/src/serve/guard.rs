//! Access control for the pages.

use std::{
    io::{self, Read as _},
    net::IpAddr,
};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use fs_err as fs;

const COOKIE: &str = "passnet_token";

/// Decision about a request.
pub(super) enum Decision {
    /// The request is answered.
    Free,
    /// The token is in the address. It is stored in a cookie, and the client is sent to the address without it.
    Remember(HeaderValue),
    /// The request is refused.
    Refused(StatusCode, &'static str),
}

/// Rules for the requests to a server.
pub(super) struct RequestGuard {
    token: Option<String>,
    loopback: bool,
}

impl RequestGuard {
    /// A loopback address needs no token. For any other address, a random token is made if `token` is `None`.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub(super) fn new(host: IpAddr, token: Option<String>) -> io::Result<Self> {
        let loopback = host.is_loopback();
        let token = match token.filter(|token| !token.is_empty()) {
            None if !loopback => Some(random_token()?),
            token => token,
        };
        Ok(Self { token, loopback })
    }

    /// Returns the query to append to the address so that it opens.
    pub(super) fn query(&self) -> String {
        self.token.as_ref().map_or_else(String::new, |token| format!("?token={token}"))
    }

    /// Judges a request.
    pub(super) fn admits(&self, request: &Request) -> Decision {
        let headers = request.headers();
        // DNS rebinding: a foreign page can make its own host name resolve to this machine. Its requests then carry that name.
        if self.loopback && !names_this_machine(headers) {
            return Decision::Refused(StatusCode::FORBIDDEN, "this server answers to the name localhost only");
        }
        let Some(token) = &self.token else { return Decision::Free };
        let bearer = text(headers, &header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if bearer.is_some_and(|shown| same(shown, token)) || cookies(headers).any(|shown| same(shown, token)) {
            return Decision::Free;
        }
        let query = request.uri().query().unwrap_or_default();
        let shown = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        // `HttpOnly` hides the cookie from scripts, and `SameSite=Strict` keeps browsers from sending it with
        // requests of other sites.
        let cookie = HeaderValue::from_str(&format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"));
        match (shown, cookie) {
            (Some(shown), Ok(cookie)) if same(shown, token) => Decision::Remember(cookie),
            _ => Decision::Refused(
                StatusCode::UNAUTHORIZED,
                "show the token: /?token=TOKEN, or Authorization: Bearer TOKEN",
            ),
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let pairs = text(headers, &header::COOKIE).unwrap_or_default().split("; ");
    pairs.filter_map(|pair| pair.strip_prefix(COOKIE)?.strip_prefix('='))
}

fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = text(headers, &header::HOST).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    name.is_some_and(|name| name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

/// Compares two texts in a time that does not depend on the position of the first difference.
fn same(shown: &str, token: &str) -> bool {
    let differences = shown.bytes().zip(token.bytes()).fold(0, |seen, (a, b)| seen | (a ^ b));
    shown.len() == token.len() && differences == 0
}

/// 128 random bits in hexadecimal.
fn random_token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn ask(guard: &RequestGuard, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match guard.admits(&request.body(Body::empty()).unwrap()) {
            Decision::Free => 200,
            Decision::Remember(_) => 303,
            Decision::Refused(code, _) => code.as_u16(),
        }
    }

    #[test]
    fn a_loopback_server_answers_to_its_own_name_only() {
        let guard = RequestGuard::new("127.0.0.1".parse().unwrap(), None).unwrap();
        for (host, code) in
            [("localhost:8420", 200), ("127.0.0.1", 200), ("[::1]:8420", 200), ("evil.example", 403), ("", 403)]
        {
            assert_eq!(ask(&guard, "/", &[("host", host)]), code, "{host}");
        }
    }

    #[test]
    fn other_addresses_need_a_token() {
        let guard = RequestGuard::new("0.0.0.0".parse().unwrap(), None).unwrap();
        let token = guard.token.clone().unwrap();
        assert_eq!(token.len(), 32);
        assert_eq!(ask(&guard, "/", &[("host", "box:1")]), 401);
        assert_eq!(ask(&guard, "/?token=wrong", &[]), 401);
        assert_eq!(ask(&guard, &format!("/?a=b&token={token}"), &[]), 303);
        assert_eq!(ask(&guard, "/", &[("cookie", &format!("x=y; passnet_token={token}"))]), 200);
        assert_eq!(ask(&guard, "/", &[("authorization", &format!("Bearer {token}"))]), 200);
    }
}
