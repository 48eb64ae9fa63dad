//! Posting updates to the webhook.
//!
//! Only plain HTTP on this machine is reached, with a connection per update; anything else stays in the queue with an error in
//! `getWebhookInfo`, as with a server that cannot be reached.

use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Url;

use super::Telegram;
use super::model::Webhook;
use super::queue::Queued;
use super::urls;

/// How long a webhook may take, and the most of its answer that is read.
const PATIENCE: Duration = Duration::from_mins(1);
const ANSWER_MAX: u64 = 64 * 1024;
/// Longest pause a webhook may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// Why an update was not taken.
struct Failure {
    words: String,
    retry_after: Option<Duration>,
}

impl Telegram {
    /// Delivers to whatever webhook is set; never ends by itself.
    pub(super) async fn deliver(&self) {
        self.lock().queue.land();
        let mut activity = self.shared.activity.subscribe();
        let mut running = JoinSet::new();
        loop {
            activity.mark_unchanged();
            let now = self.shared.clock.now();
            let (due, next) = {
                let mut world = self.lock();
                match world.webhook.clone() {
                    None => (Vec::new(), None),
                    Some(webhook) => {
                        let most = usize::try_from(webhook.max_connections).unwrap_or(1);
                        let (due, next) = world.queue.due(most, now);
                        (due.into_iter().map(|update| (webhook.clone(), update)).collect(), next)
                    }
                }
            };
            for (webhook, update) in due {
                let telegram = self.clone();
                running.spawn(async move { telegram.deliver_one(&webhook, &update).await });
            }
            let pause = async {
                match next {
                    Some(next) => tokio::time::sleep(next).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                _ = activity.changed() => {}
                Some(_) = running.join_next() => {}
                () = pause => {}
            }
        }
    }

    async fn deliver_one(&self, webhook: &Webhook, update: &Queued) {
        let posted = tokio::time::timeout(PATIENCE, post(webhook, &update.body.to_string())).await;
        let outcome = match posted {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Err(Failure { words: error.to_string(), retry_after: None }),
            Err(_) => Err(Failure { words: "Read timeout expired".to_owned(), retry_after: None }),
        };
        self.change(|world, now| match outcome {
            Ok(()) => world.queue.delivered(update.id),
            Err(failure) => {
                world.queue.failed(update.id, failure.retry_after, now);
                if let Some(webhook) = &mut world.webhook {
                    webhook.last_error = Some((now, failure.words));
                }
            }
        });
    }
}

async fn post(webhook: &Webhook, body: &str) -> io::Result<Result<(), Failure>> {
    let url = Url::parse(&webhook.url).map_err(io::Error::other)?;
    if !urls::is_loopback_http(&url) {
        return Err(io::Error::other("Failed to resolve host: only this machine is reached"));
    }
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let mut stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let secret = match &webhook.secret {
        Some(secret) => format!("X-Telegram-Bot-Api-Secret-Token: {secret}\r\n"),
        None => String::new(),
    };
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{secret}\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer).await?;
    Ok(verdict(&String::from_utf8_lossy(&answer)))
}

/// What an answer's head says.
fn verdict(answer: &str) -> Result<(), Failure> {
    let mut lines = answer.lines();
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.")).and_then(|line| line.split_once(' '));
    let Some((_, status)) = status else {
        return Err(Failure { words: "Connection closed".to_owned(), retry_after: None });
    };
    if status.starts_with('2') {
        return Ok(());
    }
    let retry_after = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
    Err(Failure { words: format!("Wrong response from the webhook: {status}"), retry_after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_2xx_takes_an_update() {
        assert!(verdict("HTTP/1.1 200 OK\r\n\r\n").is_ok());
        assert!(verdict("HTTP/1.1 204 No Content\r\n\r\n").is_ok());
        let failure = verdict("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\n\r\n").unwrap_err();
        assert_eq!(failure.words, "Wrong response from the webhook: 503 Service Unavailable");
        assert_eq!(failure.retry_after, Some(Duration::from_secs(7)));
        assert!(verdict("").is_err());
    }
}
