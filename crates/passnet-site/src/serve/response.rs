//! Answers, with the headers that all of them have.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use passnet_web::{content_security_policy, live_content_security_policy};

/// Returns an answer of a type.
pub(super) fn respond(code: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
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

/// Allows the page of an answer to request figures from this server.
pub(super) fn allow_questions(response: &mut Response) {
    if let Ok(policy) = HeaderValue::from_str(&live_content_security_policy()) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}
