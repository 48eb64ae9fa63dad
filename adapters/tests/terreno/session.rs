//! Signing in, renewing, and never for somebody else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adapters::source::{Failure, Snapshot, Source as _, Verdict};
use adapters::sources::terreno::{Address, Auth, Credential, Secret, TerrenoSource};
use asks::ids::{AccountKey, SourceName};
use futures::future::join_all;
use serde_json::json;

use crate::double::{
    Hand, Host, Says, empty_list, expired, jwt, me, options, password, press, says, session, source, token,
    unauthorised,
};

const LIST: &str = "GET /gpt/histories/pendingAsks";
const TURN: &str = "POST /gpt/histories/h1/turn";
const LOGIN: &str = "POST /auth/login";
const REFRESH: &str = "POST /auth/refresh_token";
const BETTER: &str = "POST /api/auth/sign-in/email";

async fn fifty(source: &TerrenoSource) -> Vec<Result<Snapshot, Failure>> {
    let key = me();
    join_all((0..50).map(|_| source.pending(&key))).await
}

fn unauthorised_because(failure: Failure) -> String {
    match failure {
        Failure::Unauthorised { why } => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn signs_in_once_and_says_whose_account_it_is() {
    let host = Host::start(|seen, _| if seen.line == LOGIN { session("u1", 1) } else { empty_list() }).await;
    let source = source(&host.url, &Hand::new(), password());
    for _ in 0..3 {
        assert_eq!(source.pending(&me()).await.unwrap().subject, Some("u1".into()));
    }
    assert_eq!(host.lines(), [LOGIN, LIST, LIST, LIST]);
    let seen = host.seen();
    assert_eq!(seen[0].body, json!({"email": "me@example.com", "password": "hunter2"}));
    assert_eq!((seen[0].bearer.as_str(), seen[1].bearer.as_str()), ("", jwt("u1", 1).as_str()));
    assert_eq!(seen[0].headers["x-ai-api-key"], "key-1");
}

#[tokio::test]
async fn takes_the_first_sign_in_that_exists_and_remembers_it() {
    let host = Host::start(|seen, _| match seen.line.as_str() {
        LOGIN => says(404, "<pre>Cannot POST /auth/login</pre>"),
        BETTER => says(200, r#"{"redirect":false,"token":"opaque","user":{"id":"u1"}}"#),
        _ if seen.bearer == "opaque" => empty_list(),
        _ => unauthorised(),
    })
    .await;
    let source = source(&host.url, &Hand::new(), password());
    source.pending(&me()).await.unwrap();
    source.add(me(), password());
    assert_eq!(source.pending(&me()).await.unwrap().subject, Some("u1".into()));
    assert_eq!(host.lines(), [LOGIN, BETTER, LIST, BETTER, LIST]);
}

#[tokio::test]
async fn a_host_without_a_sign_in_is_no_reason_to_blame_the_password() {
    let host = Host::start(|_, _| says(404, "")).await;
    for auth in [Auth::Auto, Auth::Terreno, Auth::BetterAuth] {
        let mut options = options(&host.url, &Hand::new(), password());
        options.auth = auth;
        let failure = TerrenoSource::new(options).unwrap().pending(&me()).await.unwrap_err();
        assert!(matches!(failure, Failure::Unavailable { .. }), "{failure:?}");
    }
    assert_eq!(host.lines(), [LOGIN, BETTER, LOGIN, BETTER]);
}

#[tokio::test]
async fn renews_before_the_end_and_not_sooner() {
    let host = Host::start(|seen, _| match seen.line.as_str() {
        LOGIN => session("u1", 1),
        REFRESH => says(200, format!(r#"{{"data":{{"token":"{}","refreshToken":"refresh-2"}}}}"#, jwt("u1", 2))),
        _ => empty_list(),
    })
    .await;
    let clock = Hand::new();
    let source = source(&host.url, &clock, password());
    source.pending(&me()).await.unwrap();
    clock.forward(839);
    source.pending(&me()).await.unwrap();
    assert_eq!(host.count(REFRESH), 0);
    clock.forward(1);
    source.pending(&me()).await.unwrap();
    source.pending(&me()).await.unwrap();
    assert_eq!(host.lines(), [LOGIN, LIST, LIST, REFRESH, LIST, LIST]);
    let seen = host.seen();
    assert_eq!(seen[3].body, json!({"refreshToken": "refresh-1"}));
    assert_eq!(seen[4].bearer, jwt("u1", 2));
}

#[tokio::test]
async fn fifty_calls_after_the_end_renew_once() {
    let host = Host::start(|seen, _| match seen.line.as_str() {
        LOGIN => session("u1", 1),
        REFRESH => Says { delay: Duration::from_millis(100), ..session("u1", 2) },
        _ => empty_list(),
    })
    .await;
    let clock = Hand::new();
    let source = source(&host.url, &clock, password());
    source.pending(&me()).await.unwrap();
    clock.forward(1000);
    for result in fifty(&source).await {
        result.unwrap();
    }
    assert_eq!((host.count(REFRESH), host.count(LOGIN), host.count(LIST)), (1, 1, 51));
}

#[tokio::test]
async fn fifty_refused_calls_renew_once_and_fail_together_when_it_fails() {
    let works = Arc::new(AtomicUsize::new(1));
    let scripted = Arc::clone(&works);
    let host = Host::start(move |seen, earlier| match seen.line.as_str() {
        LOGIN if scripted.load(Ordering::SeqCst) == 1 => session("u1", 1),
        LOGIN => Says {
            delay: Duration::from_millis(100),
            ..says(401, r#"{"message":"Password or username is incorrect"}"#)
        },
        REFRESH => Says { delay: Duration::from_millis(100), ..says(401, r#"{"message":"Invalid refresh token"}"#) },
        _ if earlier == 0 => empty_list(),
        _ => expired(),
    })
    .await;
    let source = source(&host.url, &Hand::new(), password());
    source.pending(&me()).await.unwrap();
    works.store(0, Ordering::SeqCst);
    for result in fifty(&source).await {
        assert_eq!(unauthorised_because(result.unwrap_err()), "the e-mail address or the password is wrong");
    }
    assert_eq!((host.count(REFRESH), host.count(LOGIN)), (1, 2));
}

#[tokio::test]
async fn a_refused_call_is_repeated_once_after_a_refresh() {
    for shape in [expired(), unauthorised(), says(401, r#"{"status":401,"title":"User is disabled"}"#)] {
        let host = Host::start(move |seen, _| match seen.line.as_str() {
            REFRESH => session("u1", 2),
            _ if seen.bearer == jwt("u1", 2) => says(200, r#"{"data":{"historyId":"h1","text":"Done."}}"#),
            _ => shape.clone(),
        })
        .await;
        let credential =
            Credential::Token { token: Secret::new(jwt("u1", 1)), refresh_token: Some(Secret::new("refresh-1")) };
        let source = source(&host.url, &Hand::new(), credential);
        assert_eq!(press(&source).await, Verdict::Accepted { text: "Done.".into(), next: None });
        assert_eq!(host.lines(), [TURN, REFRESH, TURN]);
        assert_eq!(host.seen()[1].bearer, "", "a stale bearer would be refused");
    }
}

#[tokio::test]
async fn a_call_that_stays_refused_is_not_repeated_again() {
    let host = Host::start(|seen, _| if seen.line == LOGIN { session("u1", 1) } else { unauthorised() }).await;
    let clock = Hand::new();
    let source = source(&host.url, &clock, password());
    assert_eq!(press(&source).await, Verdict::Unauthorised);
    assert_eq!(host.lines(), [LOGIN, TURN]);
    assert_eq!(press(&source).await, Verdict::Unauthorised);
    assert_eq!(host.lines(), [LOGIN, TURN], "it is known not to work for now");
    clock.forward(5);
    assert_eq!(press(&source).await, Verdict::Unauthorised);
    assert_eq!(host.lines(), [LOGIN, TURN, LOGIN, TURN]);
}

#[tokio::test]
async fn a_dead_refresh_token_falls_back_to_the_password() {
    let host = Host::start(|seen, earlier| match seen.line.as_str() {
        LOGIN => session("u1", u32::try_from(earlier).unwrap() + 1),
        REFRESH => says(401, r#"{"message":"Invalid refresh token"}"#),
        _ if seen.bearer == jwt("u1", 2) => empty_list(),
        _ if earlier == 0 => empty_list(),
        _ => expired(),
    })
    .await;
    let source = source(&host.url, &Hand::new(), password());
    source.pending(&me()).await.unwrap();
    source.pending(&me()).await.unwrap();
    assert_eq!(host.lines(), [LOGIN, LIST, LIST, REFRESH, LOGIN, LIST]);
}

#[tokio::test]
async fn an_early_renewal_that_fails_leaves_the_token_in_use() {
    let host = Host::start(|seen, _| match seen.line.as_str() {
        LOGIN => session("u1", 1),
        REFRESH => says(503, "upstream"),
        _ => empty_list(),
    })
    .await;
    let clock = Hand::new();
    let source = source(&host.url, &clock, password());
    source.pending(&me()).await.unwrap();
    clock.forward(850);
    for _ in 0..10 {
        source.pending(&me()).await.unwrap();
    }
    assert_eq!(host.count(REFRESH), 1, "and is not repeated by every call");
    clock.forward(50);
    assert!(matches!(source.pending(&me()).await, Err(Failure::Unavailable { .. })), "it has ended now");
    assert_eq!((host.count(REFRESH), host.count(LIST)), (2, 11));
}

#[tokio::test]
async fn a_refused_token_is_read_again_and_then_asked_for_less_and_less() {
    let file = Arc::new(Mutex::new("old".to_owned()));
    let scripted = Arc::clone(&file);
    let host = Host::start(|seen, _| if seen.bearer == "new" { empty_list() } else { unauthorised() }).await;
    let reread = move || Some(scripted.lock().unwrap().clone());
    let credential = Credential::Token { token: Secret::rereadable("old", reread), refresh_token: None };
    let clock = Hand::new();
    let source = source(&host.url, &clock, credential);
    for _ in 0..3600 {
        let why = unauthorised_because(source.pending(&me()).await.unwrap_err());
        assert!(why.contains("nothing can renew it"), "{why}");
        clock.forward(1);
    }
    assert!(host.seen().len() < 20, "{} requests in an hour", host.seen().len());
    *file.lock().unwrap() = "new".to_owned();
    source.pending(&me()).await.unwrap();
}

#[tokio::test]
async fn a_wrong_password_does_not_use_up_the_budget_of_all() {
    let host = Host::start(|_, _| says(401, r#"{"message":"Password or username is incorrect"}"#)).await;
    let clock = Hand::new();
    let source = source(&host.url, &clock, password());
    for _ in 0..900 {
        let why = unauthorised_because(source.pending(&me()).await.unwrap_err());
        assert_eq!(why, "the e-mail address or the password is wrong");
        clock.forward(1);
    }
    assert!(host.count(LOGIN) < 10, "{} of 20 sign-ins", host.count(LOGIN));
}

#[tokio::test]
async fn somebody_elses_token_is_never_used() {
    let file = Arc::new(Mutex::new(jwt("u1", 1)));
    let scripted = Arc::clone(&file);
    let host =
        Host::start(|seen, earlier| if seen.bearer == jwt("u2", 1) || earlier == 0 { empty_list() } else { expired() })
            .await;
    let reread = move || Some(scripted.lock().unwrap().clone());
    let credential = Credential::Token { token: Secret::rereadable(jwt("u1", 1), reread), refresh_token: None };
    let clock = Hand::new();
    let source = source(&host.url, &clock, credential);
    source.pending(&me()).await.unwrap();
    *file.lock().unwrap() = jwt("u2", 1);
    for _ in 0..3 {
        assert_eq!(source.pending(&me()).await.unwrap_err(), Failure::OtherSubject);
        assert_eq!(press(&source).await, Verdict::Unauthorised);
        clock.forward(60);
    }
    assert!(host.seen().iter().all(|seen| seen.bearer == jwt("u1", 1)));
}

#[tokio::test]
async fn a_sign_in_as_somebody_else_is_never_used() {
    let host = Host::start(|seen, earlier| match seen.line.as_str() {
        LOGIN if earlier == 0 => session("u1", 1),
        LOGIN => session("u2", 2),
        REFRESH => says(401, r#"{"message":"Invalid refresh token"}"#),
        _ if earlier == 0 || seen.bearer == jwt("u2", 2) => empty_list(),
        _ => expired(),
    })
    .await;
    let source = source(&host.url, &Hand::new(), password());
    source.pending(&me()).await.unwrap();
    assert_eq!(source.pending(&me()).await.unwrap_err(), Failure::OtherSubject);
    assert!(host.seen().iter().all(|seen| seen.bearer != jwt("u2", 2)));
}

#[tokio::test]
async fn a_429_on_a_sign_in_holds_all_accounts_at_the_address() {
    let host = Host::start(|_, _| Says { headers: vec![("retry-after", "60".into())], ..says(429, "") }).await;
    let (clock, address) = (Hand::new(), Arc::new(Address::default()));
    let mut both = Vec::new();
    for _ in 0..2 {
        let mut options = options(&host.url, &clock, password());
        options.address = Arc::clone(&address);
        both.push(TerrenoSource::new(options).unwrap());
    }
    let other = AccountKey { source: SourceName::from("app"), name: "other".into() };
    both[0].add(other.clone(), password());
    let limited = |seconds| Failure::RateLimited { after: Duration::from_secs(seconds) };
    assert_eq!(both[0].pending(&me()).await.unwrap_err(), limited(60));
    clock.forward(20);
    assert_eq!(both[0].pending(&other).await.unwrap_err(), limited(40));
    assert_eq!(both[1].pending(&me()).await.unwrap_err(), limited(40));
    assert_eq!(both[1].pace(&me()).wait, Some(Duration::from_secs(40)));
    assert_eq!(host.lines(), [LOGIN]);
    clock.forward(40);
    assert!(both[1].pending(&me()).await.is_err());
    assert_eq!(host.count(LOGIN), 2);
}

#[tokio::test]
async fn a_token_that_nothing_can_renew_is_used_until_it_is_refused() {
    let host = Host::start(|_, _| empty_list()).await;
    let clock = Hand::new();
    let source = source(&host.url, &clock, token(&jwt("u1", 1)));
    clock.forward(100_000);
    source.pending(&me()).await.unwrap();
    assert_eq!(host.lines(), [LIST]);
}

#[tokio::test]
async fn nothing_secret_is_in_what_is_printed() {
    let host = Host::start(|seen, _| {
        says(401, format!(r#"{{"message":"{} is wrong"}}"#, seen.body["password"].as_str().unwrap_or("?")))
    })
    .await;
    let source = source(&host.url, &Hand::new(), password());
    let failure = source.pending(&me()).await.unwrap_err();
    let printed = format!("{source:?} {failure:?} {failure}");
    assert!(
        !printed.contains("hunter2") && !printed.contains("key-1") && !printed.contains("me@example.com"),
        "{printed}"
    );
}
