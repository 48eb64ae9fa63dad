//! What the pacer lets pass, on paused time.

use super::*;
use crate::clock::Clock;

/// Follows the runtime's clock, which the tests pause.
#[derive(Debug)]
struct Paused;

impl Clock for Paused {
    fn unix_millis(&self) -> i64 {
        0
    }

    #[expect(clippy::disallowed_methods, reason = "the runtime's paused clock is this test's clock")]
    fn instant(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

fn pacer(pace: Pace) -> Arc<Pacer> {
    Arc::new(Pacer::new(pace, Arc::new(Paused)))
}

async fn go(pacer: &Pacer, chat: i64, lane: Lane, patience: u64) -> Result<(), Duration> {
    pacer.turn(chat, lane, Paused.instant() + Duration::from_secs(patience)).await
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_kept_is_used_once_and_not_past_its_time() {
    let pacer = pacer(Pace::default());
    let until = |seconds| Paused.instant() + Duration::from_secs(seconds);
    for _ in 0..4 {
        go(&pacer, 5, Lane::Send, 0).await.unwrap();
    }
    assert!(go(&pacer, 5, Lane::Send, 0).await.is_err(), "the burst is used up");
    pacer.reserve(5, until(3)).await.unwrap();
    go(&pacer, 5, Lane::Send, 0).await.expect("the turn was kept");
    assert!(go(&pacer, 5, Lane::Send, 0).await.is_err(), "once");

    pacer.reserve(5, until(3)).await.unwrap();
    pacer.hold(5, Duration::from_secs(1));
    assert!(go(&pacer, 5, Lane::Send, 0).await.is_err(), "a hold holds it too");
    tokio::time::sleep(KEPT).await;
    assert!(!pacer.take_kept(&pacer.chat(5).unwrap()), "it is too old");
}

#[tokio::test(start_paused = true)]
async fn twenty_messages_to_one_chat_are_spread_and_in_order() {
    let pacer = pacer(Pace::default());
    let start = Paused.instant();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let (pacer, order) = (Arc::clone(&pacer), Arc::clone(&order));
            tokio::spawn(async move {
                go(&pacer, 5, Lane::Send, 60).await.unwrap();
                locked(&order).push((n, Paused.instant()));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let order = locked(&order).clone();
    assert!(order.iter().map(|(n, _)| *n).eq(0..20), "{order:?}");
    let took = order[19].1 - start;
    assert!((15..=17).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn edits_pass_queued_messages() {
    let pacer = pacer(Pace::default());
    let start = Paused.instant();
    for _ in 0..8 {
        let pacer = Arc::clone(&pacer);
        tokio::spawn(async move { go(&pacer, 5, Lane::Send, 60).await });
    }
    tokio::task::yield_now().await;
    go(&pacer, 5, Lane::Edit, 5).await.unwrap();
    assert!(Paused.instant() - start < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_hold_stops_both_lanes_of_one_chat_only() {
    let pacer = pacer(Pace::default());
    assert!(pacer.hold(1, Duration::from_secs(56)));
    assert!(!pacer.hold(1, Duration::from_secs(5)), "no news");
    assert!(pacer.is_held(1) && !pacer.is_held(2));
    for lane in [Lane::Send, Lane::Edit] {
        let after = go(&pacer, 1, lane, 6).await.unwrap_err();
        assert!((56..57).contains(&after.as_secs()), "{after:?}");
        go(&pacer, 2, lane, 6).await.unwrap();
    }
    let start = Paused.instant();
    go(&pacer, 1, Lane::Send, 60).await.unwrap();
    assert!(Paused.instant() - start >= Duration::from_secs(56));
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_comes_while_waiting_counts() {
    let pacer = pacer(Pace::default());
    for _ in 0..4 {
        go(&pacer, 1, Lane::Send, 1).await.unwrap();
    }
    let waiting = tokio::spawn({
        let pacer = Arc::clone(&pacer);
        async move { go(&pacer, 1, Lane::Send, 6).await }
    });
    tokio::task::yield_now().await;
    pacer.hold(1, Duration::from_secs(30));
    assert!(waiting.await.unwrap().unwrap_err() > Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn after_a_429_edits_wait_too_and_still_go_first() {
    let pacer = pacer(Pace::default());
    for _ in 0..10 {
        go(&pacer, 5, Lane::Edit, 1).await.unwrap();
    }
    pacer.hold(5, Duration::from_secs(1));
    let order = Arc::new(Mutex::new(Vec::new()));
    let lanes = [Lane::Send, Lane::Send, Lane::Edit, Lane::Edit, Lane::Edit];
    let tasks: Vec<_> = lanes
        .into_iter()
        .map(|lane| {
            let (pacer, order) = (Arc::clone(&pacer), Arc::clone(&order));
            tokio::spawn(async move {
                go(&pacer, 5, lane, 60).await.unwrap();
                locked(&order).push((lane, Paused.instant()));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let order = locked(&order).clone();
    let lanes: Vec<_> = order.iter().map(|(lane, _)| *lane).collect();
    assert_eq!(lanes, [Lane::Edit, Lane::Edit, Lane::Edit, Lane::Send, Lane::Send]);
    assert!(order[4].1 - order[0].1 >= Duration::from_millis(2_900), "one a second together");
}

#[tokio::test(start_paused = true)]
async fn a_group_takes_twenty_in_any_minute() {
    let pacer = pacer(Pace::default());
    let start = Paused.instant();
    for _ in 0..15 {
        go(&pacer, -7, Lane::Send, 60).await.unwrap();
    }
    for _ in 0..5 {
        go(&pacer, -7, Lane::Edit, 60).await.unwrap();
    }
    assert!(Paused.instant() - start < Duration::from_secs(20));
    assert!(go(&pacer, -7, Lane::Send, 6).await.unwrap_err() > Duration::from_secs(40));
    go(&pacer, -7, Lane::Edit, 6).await.unwrap();
    go(&pacer, -7, Lane::Send, 90).await.unwrap();
    assert!(Paused.instant() - start >= Duration::from_mins(1));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_would_come_too_late_is_refused() {
    let pacer = pacer(Pace { group: Rate { burst: 2, every: Duration::from_secs(30) }, ..Pace::default() });
    for _ in 0..2 {
        go(&pacer, -9, Lane::Send, 6).await.unwrap();
    }
    let start = Paused.instant();
    assert!(go(&pacer, -9, Lane::Send, 6).await.unwrap_err() > Duration::from_secs(20));
    assert!(Paused.instant() - start <= Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn the_whole_bot_stays_under_thirty_a_second() {
    let pacer = pacer(Pace::default());
    let start = Paused.instant();
    for chat in 1..=100 {
        go(&pacer, chat, Lane::Send, 60).await.unwrap();
    }
    assert!(Paused.instant() - start >= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_a_known_chat_keeps_its_state() {
    let pacer = pacer(Pace { chats: 100, bot: Rate { burst: 1, every: Duration::ZERO }, ..Pace::default() });
    pacer.hold(1, Duration::from_hours(1));
    let mut refused = 0;
    for chat in 2..=10_000 {
        refused += usize::from(go(&pacer, chat, Lane::Send, 6).await.is_err());
    }
    assert_eq!(refused, 9_999 - 99, "over the cap new chats wait");
    tokio::time::advance(IDLE * 2).await;
    go(&pacer, 20_000, Lane::Send, 6).await.unwrap();
    assert_eq!(locked(&pacer.chats).len(), 2, "the idle are forgotten");
    assert!(pacer.is_held(1), "the held one is not");
}
