//! What can be made to go wrong on the wire, per route and a counted number of times.

use std::time::Duration;

use serde::Serialize;

/// A route of the host, for faults and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// `POST /auth/login`.
    Login,
    /// `POST /auth/refresh_token`.
    Refresh,
    /// `GET /auth/me`.
    Me,
    /// `POST /api/auth/sign-in/email`.
    SignIn,
    /// `GET /api/auth/get-session`.
    GetSession,
    /// `POST /api/auth/sign-out`.
    SignOut,
    /// `GET /gpt/histories/pendingAsks`.
    PendingAsks,
    /// `POST /gpt/histories/:id/turn`.
    Turn,
    /// `POST /gpt/histories`.
    CreateHistory,
    /// `GET /gpt/histories/:id`.
    ReadHistory,
    /// `GET /gpt/histories`.
    ListHistories,
    /// `PATCH /gpt/histories/:id`.
    PatchHistory,
    /// `DELETE /gpt/histories/:id`.
    DeleteHistory,
    /// Whatever the host has no route for, and preflights.
    Other,
}

impl Route {
    /// The route of a request line; `path` is without its query.
    #[must_use]
    pub fn of(method: &str, path: &str) -> Self {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let reads = matches!(method, "GET" | "HEAD");
        match (method, segments.as_slice()) {
            ("POST", ["auth", "login"]) => Self::Login,
            ("POST", ["auth", "refresh_token"]) => Self::Refresh,
            ("POST", ["api", "auth", "sign-in", "email"]) => Self::SignIn,
            ("POST", ["api", "auth", "sign-out"]) => Self::SignOut,
            ("POST", ["gpt", "histories"]) => Self::CreateHistory,
            ("POST", ["gpt", "histories", _, "turn"]) => Self::Turn,
            ("PATCH", ["gpt", "histories", _]) => Self::PatchHistory,
            ("DELETE", ["gpt", "histories", _]) => Self::DeleteHistory,
            (_, ["auth", "me"]) if reads => Self::Me,
            (_, ["api", "auth", "get-session"]) if reads => Self::GetSession,
            (_, ["gpt", "histories"]) if reads => Self::ListHistories,
            (_, ["gpt", "histories", "pendingAsks"]) if reads => Self::PendingAsks,
            (_, ["gpt", "histories", _]) if reads => Self::ReadHistory,
            _ => Self::Other,
        }
    }

    /// Whether the route counts into the rate limit bucket of log-ins and refreshes.
    #[must_use]
    pub const fn is_auth_limited(self) -> bool {
        matches!(self, Self::Login | Self::Refresh | Self::SignIn)
    }
}

/// One thing that goes wrong, with where and how often.
///
/// A fault applies *before* the request has its effect unless [`Fault::after`] is called: then the host does everything
/// the request asks for, and only its reply is lost, late or replaced.
#[derive(Debug, Clone)]
pub struct Fault {
    pub(super) route: Option<Route>,
    pub(super) email: Option<String>,
    pub(super) times: usize,
    pub(super) after: bool,
    pub(super) act: Act,
}

/// What happens to a request or its reply.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Reply { status: u16, content_type: &'static str, headers: Vec<(String, String)>, body: String },
    Delay(Duration),
    Hang,
    Drop,
    Truncate,
    Cut,
}

impl Fault {
    /// Answers with this status and raw body (as JSON) instead of the host's own reply.
    #[must_use]
    pub fn reply(route: Route, status: u16, body: impl Into<String>) -> Self {
        let content_type = "application/json; charset=utf-8";
        Self::new(route, Act::Reply { status, content_type, headers: Vec::new(), body: body.into() })
    }

    /// Answers with a proxy's HTML error page.
    #[must_use]
    pub fn html(route: Route, status: u16) -> Self {
        let body = format!(
            "<html>\r\n<head><title>{status} error</title></head>\r\n<body>\r\n<center><h1>{status} error</h1></center>\r\n\
             <hr><center>proxy</center>\r\n</body>\r\n</html>\r\n"
        );
        Self::new(route, Act::Reply { status, content_type: "text/html", headers: Vec::new(), body })
    }

    /// Waits this long, then goes on as usual.
    #[must_use]
    pub const fn delay(route: Route, by: Duration) -> Self {
        Self::new(route, Act::Delay(by))
    }

    /// Never answers.
    #[must_use]
    pub const fn hang(route: Route) -> Self {
        Self::new(route, Act::Hang)
    }

    /// Closes the connection instead of answering.
    #[must_use]
    pub const fn drop(route: Route) -> Self {
        Self::new(route, Act::Drop)
    }

    /// Sends the host's own reply with the second half of its JSON missing, complete as far as HTTP can tell. The request
    /// has its effect.
    #[must_use]
    pub const fn truncate(route: Route) -> Self {
        Self::new(route, Act::Truncate).after()
    }

    /// Promises the whole reply, sends half of it and closes the connection. The request has its effect.
    #[must_use]
    pub const fn cut(route: Route) -> Self {
        Self::new(route, Act::Cut).after()
    }

    /// The request has its effect first; only the reply suffers.
    #[must_use]
    pub const fn after(mut self) -> Self {
        self.after = true;
        self
    }

    /// How often it happens; once unless this is called.
    #[must_use]
    pub const fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Until the faults are cleared.
    #[must_use]
    pub const fn for_ever(self) -> Self {
        self.times(usize::MAX)
    }

    /// Only to requests of this user (by e-mail address).
    #[must_use]
    pub fn only_for(mut self, email: impl Into<String>) -> Self {
        self.email = Some(email.into());
        self
    }

    /// On every route, not only the one it was made for.
    #[must_use]
    pub const fn everywhere(mut self) -> Self {
        self.route = None;
        self
    }

    /// With a header, such as `Retry-After`. Only replies carry headers; other faults ignore it.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Act::Reply { headers, .. } = &mut self.act {
            headers.push((name.into(), value.into()));
        }
        self
    }

    const fn new(route: Route, act: Act) -> Self {
        Self { route: Some(route), email: None, times: 1, after: false, act }
    }
}
