//! Which addresses the platform takes in buttons and links.

use url::{Host, Url};

/// Why an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlProblem {
    /// There is none.
    Empty,
    /// Neither `http`, `https`, `tg` nor `ton`.
    Scheme,
    /// Not a public address: unreadable, white space in it, or a host without a dot.
    Wrong,
}

impl UrlProblem {
    /// The platform's words for it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Empty => "URL host is empty",
            Self::Scheme => "Unsupported URL protocol",
            Self::Wrong => "Wrong HTTP URL",
        }
    }
}

/// Accepts what the platform accepts: a public `http` or `https` address (numeric addresses pass, dotless hosts such as
/// `localhost` do not), and the app's own `tg:` and `ton:` links. Without a scheme `http://` is assumed.
pub(super) fn check(address: &str) -> Result<(), UrlProblem> {
    let address = address.trim();
    if address.is_empty() {
        return Err(UrlProblem::Empty);
    }
    if address.chars().any(|symbol| symbol.is_whitespace() || symbol.is_control()) {
        return Err(UrlProblem::Wrong);
    }
    let with_scheme = match address.split_once("://") {
        Some(_) => address.to_owned(),
        None if address.starts_with("tg:") || address.starts_with("ton:") => return Ok(()),
        None => format!("http://{address}"),
    };
    let url = Url::parse(&with_scheme).map_err(|_| UrlProblem::Wrong)?;
    match url.scheme() {
        "tg" | "ton" => return Ok(()),
        "http" | "https" => {}
        _ => return Err(UrlProblem::Scheme),
    }
    match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(()),
        Some(Host::Domain(domain)) if domain.trim_matches('.').contains('.') => Ok(()),
        _ => Err(UrlProblem::Wrong),
    }
}

/// Whether an address is plain `http` on this machine, which the real server would never take for a webhook and tests need.
pub(super) fn is_loopback_http(url: &Url) -> bool {
    url.scheme() == "http"
        && match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(domain)) => domain == "localhost",
            None => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_judged_as_the_platform_does() {
        let table = [
            ("https://app.example.com/ai?a=1#b", Ok(())),
            ("http://127.0.0.1:8787/a", Ok(())),
            ("http://[::1]/", Ok(())),
            ("example.com", Ok(())),
            ("tg://user?id=5", Ok(())),
            ("http://localhost:3000/", Err(UrlProblem::Wrong)),
            ("https://intranet/a", Err(UrlProblem::Wrong)),
            ("https://host.example/a b", Err(UrlProblem::Wrong)),
            ("not-a-url", Err(UrlProblem::Wrong)),
            ("app://x.y", Err(UrlProblem::Scheme)),
            ("ftp://example.com", Err(UrlProblem::Scheme)),
            ("", Err(UrlProblem::Empty)),
        ];
        for (address, verdict) in table {
            assert_eq!(check(address), verdict, "{address}");
        }
    }
}
