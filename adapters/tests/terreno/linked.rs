//! People who link themselves: signing in once, and what is kept of it.

use std::sync::{Arc, Mutex, OnceLock};

use adapters::source::{Failure, Keeper, Secret, Source as _};
use adapters::sources::terreno::{TerrenoOptions, TerrenoSource};
use asks::ids::AccountKey;

use super::double::{Hand, Host, Says, empty_list, expired, jwt, me, options, password, says, session, unauthorised};

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<(AccountKey, Secret)>>);

impl Keeper for Kept {
    fn renewed(&self, account: &AccountKey, credential: Secret) {
        self.0.lock().unwrap().push((account.clone(), credential));
    }
}

fn source(host: &Host, kept: &Arc<Kept>) -> TerrenoSource {
    let keeper: Arc<dyn Keeper> = Arc::<Kept>::clone(kept);
    let options = options(&host.url, &Hand::new(), password());
    TerrenoSource::new(TerrenoOptions { keeper: Some(keeper), accounts: Vec::new(), ..options }).unwrap()
}

fn myself(id: &str) -> Says {
    says(200, format!(r#"{{"data":{{"_id":"{id}","id":"{id}","email":"{id}@example.com"}},"requestId":"r"}}"#))
}

#[tokio::test]
async fn a_pasted_token_is_checked_by_one_call_that_says_whose_it_is() {
    let host = Host::start(|seen, _| match seen.line.as_str() {
        "GET /auth/me" if seen.bearer == jwt("u1", 1) => myself("u1"),
        "GET /api/auth/get-session" if seen.bearer == "opaque" => {
            says(200, r#"{"session":{"userId":"u2"},"user":{"id":"u2","name":"Somebody"}}"#)
        }
        "GET /api/auth/get-session" => says(200, "null"),
        _ => unauthorised(),
    })
    .await;
    let source = source(&host, &Arc::default());
    let adopt = |token: String| {
        let source = &source;
        async move { source.adopt(&Secret::new(token), None).await }
    };
    let jwt_of = adopt(format!("Bearer {}\n", jwt("u1", 1))).await.unwrap();
    assert_eq!((jwt_of.subject.as_str(), jwt_of.display.as_deref()), ("u1", Some("u1@example.com")));
    let opaque = adopt("opaque".to_owned()).await.unwrap();
    assert_eq!((opaque.subject.as_str(), opaque.display.as_deref()), ("u2", Some("Somebody")));
    assert_eq!(host.lines(), ["GET /auth/me", "GET /api/auth/get-session"]);
    for token in ["another", "", "  ", "a.b.c"] {
        let refused = adopt(token.to_owned()).await;
        assert!(matches!(refused, Err(Failure::Unauthorised { .. })), "{token:?}: {refused:?}");
    }
}

#[tokio::test]
async fn an_expired_token_is_renewed_while_it_is_adopted_and_renewals_are_told() {
    let host = Host::start(|seen, earlier| match seen.line.as_str() {
        "GET /auth/me" if seen.bearer == jwt("u1", 2) => myself("u1"),
        "POST /auth/refresh_token" => session("u1", 2 + u32::try_from(earlier).unwrap()),
        "GET /gpt/histories/pendingAsks" if seen.bearer == jwt("u1", 3) => empty_list(),
        _ => expired(),
    })
    .await;
    let kept = Arc::<Kept>::default();
    let source = source(&host, &kept);
    let signed = source.adopt(&Secret::new(jwt("u1", 1)), Some(&Secret::new("refresh-1"))).await.unwrap();
    assert!(signed.credential.expose().contains("refresh-2"), "what was bought is what is kept");
    assert!(!format!("{signed:?}").contains("refresh-2"));

    source.add_account(&me(), &signed.credential).unwrap();
    let listed = source.pending(&me()).await.unwrap();
    assert_eq!(listed.subject.unwrap().as_str(), "u1");
    let told = kept.0.lock().unwrap().pop().unwrap();
    assert!(told.0 == me() && told.1.expose().contains("refresh-3"));
    // What was told is what another process goes on with.
    source.add_account(&me(), &told.1).unwrap();
    source.pending(&me()).await.unwrap();
    assert!(kept.0.lock().unwrap().is_empty(), "nothing was renewed");

    source.remove_account(&me());
    assert!(matches!(source.pending(&me()).await, Err(Failure::Unauthorised { .. })));
    assert!(source.add_account(&me(), &Secret::new("{}")).is_err());
}

#[tokio::test]
async fn a_sign_in_keeps_no_password_and_shares_the_budget() {
    let host = Host::start(|seen, earlier| match (seen.line.as_str(), earlier) {
        ("POST /auth/login", 0) => session("u1", 1),
        ("POST /auth/login", 1) => says(401, r#"{"message":"Password or username is incorrect"}"#),
        ("POST /auth/login", _) => {
            let headers = vec![("retry-after", "600".to_owned())];
            Says { headers, ..says(429, r#"{"status":429,"title":"Too many requests"}"#) }
        }
        _ => unauthorised(),
    })
    .await;
    let source = source(&host, &Arc::default());
    let secret = Secret::new("hunter2");
    let signed = source.sign_in("me@example.com", &secret).await.unwrap();
    assert_eq!((signed.subject.as_str(), signed.display.as_deref()), ("u1", Some("me@example.com")));
    assert!(!signed.credential.expose().contains("hunter2"));
    let wrong = source.sign_in("me@example.com", &secret).await;
    assert!(matches!(wrong, Err(Failure::Unauthorised { .. })), "{wrong:?}");
    for _ in 0..2 {
        let full = source.sign_in("me@example.com", &secret).await;
        assert!(matches!(full, Err(Failure::RateLimited { .. })), "{full:?}");
    }
    assert_eq!(host.count("POST /auth/login"), 3, "nothing is sent while the budget is used up");
}

#[tokio::test]
async fn a_renewal_under_way_is_not_told_once_the_account_goes_on_with_another_credential() {
    for removed in [false, true] {
        let linked_again: Arc<OnceLock<Arc<TerrenoSource>>> = Arc::default();
        let source_of = Arc::clone(&linked_again);
        let host = Host::start(move |seen, _| match seen.line.as_str() {
            "GET /auth/me" if seen.bearer == jwt("u1", 1) => myself("u1"),
            // While the former session is being renewed its person links again, or unlinks.
            "POST /auth/refresh_token" => {
                let source = source_of.get().unwrap();
                if removed {
                    source.remove_account(&me());
                } else {
                    let token = jwt("u1", 7);
                    let fresh = format!(r#"{{"token":"{token}","refresh":"refresh-7","subject":"u1"}}"#);
                    source.add_account(&me(), &Secret::new(fresh)).unwrap();
                }
                session("u1", 2)
            }
            _ => expired(),
        })
        .await;
        let kept = Arc::<Kept>::default();
        let source = Arc::new(source(&host, &kept));
        linked_again.set(Arc::clone(&source)).unwrap();
        let signed = source.adopt(&Secret::new(jwt("u1", 1)), Some(&Secret::new("refresh-1"))).await.unwrap();
        source.add_account(&me(), &signed.credential).unwrap();
        let _ = source.pending(&me()).await;
        assert_eq!(host.count("POST /auth/refresh_token"), 1, "removed: {removed}");
        assert!(kept.0.lock().unwrap().is_empty(), "the former session was told; removed: {removed}");
    }
}
