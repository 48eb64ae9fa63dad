//! What a browser may do with the page, and what pages of others may do with it: nothing.
//!
//! The demo listens on loopback, where every page in the visitor's browser can send requests to. A change is made only for a
//! request with a JSON body (which another origin cannot send without asking first, and nobody answers that question) that
//! comes from the page itself.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Sent with every answer. Only files of the page itself run or are shown.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Lets reading pass, refuses changes from elsewhere, and dresses every answer.
pub(super) async fn guard(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = match refusal(request.headers()).filter(|_| !reads) {
        Some((status, why)) => (status, why).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Why a change is refused.
fn refusal(headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send JSON, with content-type: application/json.\n"));
    }
    let host = text(header::HOST).unwrap_or_default();
    let foreign = text(header::ORIGIN).is_some_and(|origin| origin != format!("http://{host}"))
        || headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none");
    if foreign || !is_address(host) {
        return Some((StatusCode::FORBIDDEN, "Only the demo's own page may do this; open it by its address.\n"));
    }
    None
}

/// Whether a host is written as an address. A name could be made to point here by anybody who owns it.
fn is_address(host: &str) -> bool {
    let authority = host.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    let name = authority.unwrap_or_default();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(headers: &[(&'static str, &'static str)]) -> Option<u16> {
        let pairs =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        refusal(&pairs.collect()).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_the_page_itself_changes_anything() {
        let json = ("content-type", "application/json; charset=utf-8");
        let host = ("host", "127.0.0.1:8787");
        assert_eq!(status(&[json, host]), None);
        assert_eq!(status(&[json, host, ("origin", "http://127.0.0.1:8787"), ("sec-fetch-site", "same-origin")]), None);
        assert_eq!(status(&[json, ("host", "localhost:1"), ("origin", "http://localhost:1")]), None);
        assert_eq!(status(&[json, ("host", "[::1]:1")]), None);
        assert_eq!(status(&[host]), Some(415));
        assert_eq!(status(&[host, ("content-type", "text/plain")]), Some(415));
        assert_eq!(status(&[json, host, ("origin", "http://127.0.0.1:9")]), Some(403));
        assert_eq!(status(&[json, host, ("origin", "null")]), Some(403));
        assert_eq!(status(&[json, host, ("sec-fetch-site", "same-site")]), Some(403));
        assert_eq!(
            status(&[json, ("host", "rebound.example:8787"), ("origin", "http://rebound.example:8787")]),
            Some(403)
        );
        assert_eq!(status(&[json]), Some(403));
    }
}
