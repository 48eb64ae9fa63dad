//! Sign-in and identity: tokens, sessions, the three shapes of a 401, and limits.

use std::time::Duration;

use serde_json::{Value, json};
use sim::terreno::{AuthMode, Limit, Options};

use crate::harness::{Bench, OTHER, OWNER, PASSWORD, data};

const LIST: &str = "/gpt/histories/pendingAsks";

fn unauthorized() -> Value {
    json!({"status": 401, "title": "Unauthorized", "requestId": "<any>"})
}

#[tokio::test]
async fn tokens_as_captured() {
    let mut bench = Bench::new(Options::default()).await;
    let broken = format!("{}x", bench.bearer(OWNER));
    let wrong = json!({"email": OWNER, "password": "wrong"});
    let right = json!({"email": OWNER, "password": PASSWORD});
    let tokens = json!({"data": {"refreshToken": "<refresh>", "token": "<token>", "userId": "<user>"}});
    let me = json!({
        "admin": false, "_id": "<user>", "email": OWNER, "deleted": false, "created": "<any>", "updated": "<any>",
        "__v": 0, "id": "<user>",
    });
    let says = |message: &str| json!({"message": message});
    let missing = "No refresh token provided, must provide refreshToken in body";
    let details = "<any>";
    bench
        .replay(vec![
            ("1", "", "POST", "/auth/login", right, 200, tokens),
            ("2", "", "POST", "/auth/login", wrong, 401, says("Password or username is incorrect")),
            ("3", "", "POST", "/auth/login", json!({}), 401, says("Missing credentials")),
            (
                "4",
                "",
                "POST",
                "/auth/refresh_token",
                json!({"refreshToken": "<refresh>"}),
                200,
                json!({"data": {"refreshToken": "<any>", "token": "<any>"}}),
            ),
            ("5", "", "POST", "/auth/refresh_token", json!({"refreshToken": "x"}), 401, says("jwt malformed")),
            ("6", "", "POST", "/auth/refresh_token", json!({}), 401, says(missing)),
            (
                "an access token is no refresh token",
                "",
                "POST",
                "/auth/refresh_token",
                json!({"refreshToken": "<token>"}),
                401,
                says("Invalid refresh token"),
            ),
            ("7", "", "GET", LIST, Value::Null, 401, unauthorized()),
            ("8", "nonsense", "GET", LIST, Value::Null, 401, unauthorized()),
            ("9", &broken, "GET", LIST, Value::Null, 401, json!({"details": details, "message": "invalid signature"})),
            ("a refresh token is no access token", "<refresh>", "GET", LIST, Value::Null, 401, unauthorized()),
            ("10", "<token>", "GET", "/auth/me", Value::Null, 200, data(me)),
            ("11", "<token>", "GET", LIST, Value::Null, 200, data(json!([]))),
        ])
        .await;
    let got = bench.send(&broken, "GET", LIST, &Value::Null).await;
    let details = got.body["details"].as_str().expect("details");
    let start =
        "[jwt] Error decoding token: JsonWebTokenError: invalid signature, expired at undefined, current time: ";
    assert!(details.starts_with(start), "{details}");
}

#[tokio::test]
async fn tokens_live_as_long_as_their_claims_say() {
    let options = Options {
        access_lifetime: Duration::from_mins(1),
        refresh_lifetime: Duration::from_mins(2),
        ..Options::default()
    };
    let bench = Bench::new(options).await;
    let (access, refresh) = bench.host.tokens(OWNER).expect("tokens");
    let payload = access.split('.').nth(1).expect("a payload");
    let claims = base64_url(payload);
    assert_eq!(claims["exp"].as_u64(), claims["iat"].as_u64().map(|issued| issued + 60));

    bench.clock.advance(Duration::from_secs(59));
    assert_eq!(bench.send(&access, "GET", LIST, &Value::Null).await.status, 200);
    bench.clock.advance(Duration::from_secs(1));
    let got = bench.send(&access, "GET", LIST, &Value::Null).await;
    assert_eq!((got.status, got.body["message"].as_str()), (401, Some("jwt expired")), "{}", got.body);
    assert!(got.body.get("requestId").is_none() && got.body.get("status").is_none(), "{}", got.body);

    let refreshed = bench.send(&access, "POST", "/auth/refresh_token", &json!({"refreshToken": refresh})).await;
    assert_eq!(refreshed.status, 200, "a stale bearer does not disturb a refresh");
    let token = refreshed.body["data"]["token"].as_str().expect("a token").to_owned();
    assert_eq!(bench.send(&token, "GET", LIST, &Value::Null).await.status, 200);
    bench.clock.advance(Duration::from_mins(1));
    let late = bench.send("", "POST", "/auth/refresh_token", &json!({"refreshToken": refresh})).await;
    assert_eq!((late.status, late.body), (401, json!({"message": "jwt expired"})));
}

#[tokio::test]
async fn credentials_end_on_command() {
    let bench = Bench::new(Options { auth: AuthMode::Both, ..Options::default() }).await;
    let (access, refresh) = bench.host.tokens(OWNER).expect("tokens");
    let others = bench.bearer(OTHER);
    let refresh = json!({"refreshToken": refresh});
    bench.host.expire_access_tokens(OWNER);
    assert_eq!(bench.send(&access, "GET", LIST, &Value::Null).await.body["message"], "jwt expired");
    assert_eq!(bench.send(&others, "GET", LIST, &Value::Null).await.status, 200, "others are not concerned");
    assert_eq!(bench.send("", "POST", "/auth/refresh_token", &refresh).await.status, 200);
    bench.host.expire_refresh_tokens(OWNER);
    let got = bench.send("", "POST", "/auth/refresh_token", &refresh).await;
    assert_eq!((got.status, got.body["message"].as_str()), (401, Some("jwt expired")));
    bench.host.revoke_tokens(OWNER);
    let got = bench.send("", "POST", "/auth/refresh_token", &refresh).await;
    assert_eq!((got.status, got.body["message"].as_str()), (401, Some("Invalid refresh token")));

    let (access, session) = (bench.bearer(OWNER), bench.host.session(OWNER).expect("a session"));
    bench.host.set_disabled(OWNER, true);
    for bearer in [&access, &session] {
        let got = bench.send(bearer, "GET", LIST, &Value::Null).await;
        assert_eq!((got.status, got.body["title"].as_str()), (401, Some("User is disabled")));
    }
    bench.host.set_disabled(OWNER, false);
    assert_eq!(bench.send(&session, "GET", LIST, &Value::Null).await.status, 200);
    bench.host.end_sessions(OWNER);
    assert_eq!(bench.send(&session, "GET", LIST, &Value::Null).await.body["title"], "Unauthorized");
}

#[tokio::test]
async fn better_auth_sessions() {
    let bench = Bench::new(Options { auth: AuthMode::BetterAuth, ..Options::default() }).await;
    let sign_in = "/api/auth/sign-in/email";
    let got = bench.send("", "POST", sign_in, &json!({"email": OWNER, "password": "wrong"})).await;
    let refusal = json!({"message": "Invalid email or password", "code": "INVALID_EMAIL_OR_PASSWORD"});
    assert_eq!((got.status, got.body), (401, refusal));

    let got = bench.send("", "POST", sign_in, &json!({"email": OWNER, "password": PASSWORD})).await;
    assert_eq!((got.status, &got.body["redirect"], &got.body["user"]["email"]), (200, &json!(false), &json!(OWNER)));
    let token = got.body["token"].as_str().expect("a token").to_owned();
    assert_eq!(token.len(), 32);
    let signed = got.headers["set-auth-token"].to_str().expect("text").to_owned();
    assert!(signed.starts_with(&format!("{token}.")), "{signed}");
    assert!(got.headers["set-cookie"].to_str().expect("text").contains("Max-Age=604800"));
    for bearer in [&token, &signed] {
        assert_eq!(bench.send(bearer, "GET", LIST, &Value::Null).await.status, 200);
        let session = bench.send(bearer, "GET", "/api/auth/get-session", &Value::Null).await;
        assert_eq!((session.status, &session.body["user"]["email"]), (200, &json!(OWNER)));
        assert!(session.body["session"]["expiresAt"].is_string() && session.body.get("requestId").is_none());
    }
    let (access, _) = bench.host.tokens(OWNER).expect("tokens");
    assert_eq!(bench.send(&access, "GET", LIST, &Value::Null).await.body["title"], "Unauthorized", "no JWTs here");
    for (method, path) in [("POST", "/auth/login"), ("POST", "/auth/refresh_token"), ("GET", "/auth/me")] {
        assert_eq!(bench.send(&token, method, path, &Value::Null).await.status, 404, "{path}");
    }
    assert_eq!(bench.send(&token, "POST", "/api/auth/sign-out", &json!({})).await.status, 200);
    assert_eq!(bench.send(&token, "GET", "/api/auth/get-session", &Value::Null).await.body, Value::Null);

    let session = bench.host.session(OWNER).expect("a session");
    bench.clock.advance(Duration::from_hours(7 * 24));
    assert_eq!(bench.send(&session, "GET", LIST, &Value::Null).await.status, 401, "seven days are over");
    let terreno = Bench::new(Options::default()).await;
    assert_eq!(terreno.send("", "POST", sign_in, &json!({})).await.status, 404);
}

#[tokio::test]
async fn limits_refuse_with_headers() {
    let minute = Duration::from_mins(1);
    let options = Options {
        api_limit: Some(Limit { requests: 8, window: minute }),
        auth_limit: Some(Limit { requests: 2, window: minute }),
        ..Options::default()
    };
    let bench = Bench::new(options).await;
    let (owner, other) = (bench.bearer(OWNER), bench.bearer(OTHER));
    for used in 1..=8 {
        let got = bench.send(&owner, "GET", LIST, &Value::Null).await;
        assert_eq!(got.status, 200);
        assert_eq!(got.headers["ratelimit"], format!("limit=8, remaining={}, reset=60", 8 - used));
    }
    bench.clock.advance(Duration::from_secs(20));
    let got = bench.send(&owner, "GET", LIST, &Value::Null).await;
    let body = json!({"status": 429, "title": "Too many requests", "code": "rate-limit-exceeded"});
    assert_eq!((got.status, got.body), (429, body));
    assert_eq!(got.headers["retry-after"], "40");
    assert_eq!(got.headers["ratelimit"], "limit=8, remaining=0, reset=40");
    assert_eq!(got.headers["ratelimit-policy"], "8;w=60");
    assert_eq!(bench.send(&other, "GET", LIST, &Value::Null).await.status, 200, "each user has an own bucket");

    let statuses = [
        bench.send("", "POST", "/auth/login", &json!({"email": OWNER, "password": PASSWORD})).await.status,
        bench.send("", "POST", "/auth/refresh_token", &json!({"refreshToken": "x"})).await.status,
        bench.send("", "POST", "/auth/login", &json!({"email": OTHER, "password": PASSWORD})).await.status,
    ];
    assert_eq!(statuses, [200, 401, 429], "log-ins and refreshes share the address's bucket");
    bench.clock.advance(minute);
    assert_eq!(bench.send(&owner, "GET", LIST, &Value::Null).await.status, 200);
}

fn base64_url(text: &str) -> Value {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).expect("base64url");
    serde_json::from_slice(&bytes).expect("claims")
}
