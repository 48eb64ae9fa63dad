use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::clock::Clock;

/// Tokio's clock, which tests pause.
#[derive(Debug)]
struct Paused;

impl Clock for Paused {
    fn unix_millis(&self) -> i64 {
        0
    }

    #[expect(clippy::disallowed_methods, reason = "the clock of tests that pause time")]
    fn instant(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

const CREATE: Route = Route::Create { channel: 1 };

fn pace() -> (Pace, Instant) {
    let clock: SharedClock = Arc::new(Paused);
    let now = clock.instant();
    (Pace::new(clock), now)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A server with five requests in five seconds, as its headers say.
fn answer(permit: &Permit, number: usize) {
    let left = 4 - u32::try_from(number % 5).unwrap();
    permit.learn(Some(Window { limit: 5, left, reset_after: secs(5) }));
}

#[tokio::test(start_paused = true)]
async fn a_bucket_is_kept_in_order_and_other_channels_go_on() {
    let (pace, start) = pace();
    let pace = Arc::new(pace);
    let far = start + secs(100);
    let turns = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for number in 0..12 {
        let (pace, turns) = (pace.clone(), turns.clone());
        tasks.push(tokio::spawn(async move {
            let permit = pace.permit(&CREATE, far).await.unwrap();
            assert_eq!(turns.fetch_add(1, Ordering::SeqCst), number, "first come, first served");
            answer(&permit, number);
            Paused.instant().duration_since(start).as_secs()
        }));
        tokio::task::yield_now().await;
    }
    let other = pace.permit(&Route::Create { channel: 2 }, far).await.unwrap();
    assert_eq!(Paused.instant(), start);
    drop(other);
    let mut at = Vec::new();
    for task in tasks {
        at.push(task.await.unwrap());
    }
    assert_eq!(at, [0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_after_the_deadline_is_refused_at_once() {
    let (pace, start) = pace();
    let permit = pace.permit(&CREATE, start + secs(10)).await.unwrap();
    permit.learn(Some(Window { limit: 1, left: 0, reset_after: secs(20) }));
    drop(permit);
    let Err(Trouble::Held { after, .. }) = pace.permit(&CREATE, start + secs(10)).await else {
        panic!("there is no room for twenty seconds");
    };
    assert!(after >= secs(20) && after < secs(21), "{after:?}");
    assert_eq!(Paused.instant(), start);
    assert!(pace.permit(&CREATE, start + secs(30)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_unknown_bucket_sends_one_to_find_out() {
    let (pace, start) = pace();
    let first = pace.permit(&CREATE, start + secs(10)).await.unwrap();
    let second = pace.permit(&CREATE, start + secs(10));
    tokio::pin!(second);
    assert!(tokio::time::timeout(secs(1), &mut second).await.is_err());
    // Answers without headers: there is nothing to keep to.
    first.learn(None);
    drop(first);
    let _second = second.await.unwrap();
    let _third = pace.permit(&CREATE, start + secs(10)).await.unwrap();
    assert_eq!(Paused.instant(), start + secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_429_closes_its_bucket_and_a_global_one_everything() {
    let (pace, start) = pace();
    let permit = pace.permit(&CREATE, start + secs(10)).await.unwrap();
    permit.close(secs(3));
    drop(permit);
    let edit = Route::Edit { channel: 1, message: 2 };
    drop(pace.permit(&edit, start + secs(10)).await.unwrap());
    assert_eq!(Paused.instant(), start);
    drop(pace.permit(&CREATE, start + secs(10)).await.unwrap());
    assert!(Paused.instant() >= start + secs(3));
    pace.close(secs(2));
    drop(pace.permit(&Route::Me, start + secs(10)).await.unwrap());
    assert!(Paused.instant() >= start + secs(5));
}

#[tokio::test(start_paused = true)]
async fn no_second_has_more_than_fifty() {
    let (pace, start) = pace();
    let mut at = Vec::new();
    for channel in 1..=200 {
        drop(pace.permit(&Route::Create { channel }, start + secs(100)).await.unwrap());
        at.push(Paused.instant());
    }
    for window in at.windows(50) {
        assert!(window[49].duration_since(window[0]) >= secs(1), "fifty within a second");
    }
    assert!(Paused.instant().duration_since(start) < secs(6));
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded() {
    let (pace, start) = pace();
    for channel in 1..=3 * MOST_BUCKETS as u64 {
        let permit = pace.permit(&Route::Create { channel }, start + secs(10_000)).await.unwrap();
        permit.learn(Some(Window { limit: 5, left: 4, reset_after: secs(5) }));
    }
    assert!(lock(&pace.buckets).len() <= MOST_BUCKETS);
}
