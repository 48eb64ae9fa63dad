//! How fast a bot may write, and what happens when it writes faster.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::refusal::Refusal;

/// One message per second and chat, of which so many may come at once.
const BURST: f64 = 4.0;
/// Messages and edits per minute in a group.
const GROUP_PER_MINUTE: usize = 20;
/// Messages and edits per second over all chats.
const OVERALL_PER_SECOND: usize = 30;

const MINUTE: Duration = Duration::from_mins(1);

/// The pace of one bot.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Whether the real limits are on; a chat that was closed by hand is closed in either case.
    pub(super) real: bool,
    chats: HashMap<i64, ChatPace>,
    overall: VecDeque<Duration>,
}

#[derive(Debug)]
struct ChatPace {
    closed_until: Duration,
    tokens: f64,
    counted: Duration,
    minute: VecDeque<Duration>,
}

impl Pace {
    /// A fresh pace, with or without the real limits.
    pub(super) fn new(real: bool) -> Self {
        Self { real, ..Self::default() }
    }

    /// Refuses everything to a chat for so long.
    pub(super) fn close(&mut self, chat: i64, until: Duration) {
        self.chat(chat, until).closed_until = until;
    }

    /// Counts one message or edit.
    ///
    /// # Errors
    ///
    /// 429 where it comes too soon; it is not counted then, and the chat stays closed for as long as was said.
    pub(super) fn count(&mut self, chat: i64, group: bool, now: Duration) -> Result<(), Refusal> {
        let real = self.real;
        while self.overall.front().is_some_and(|at| *at + Duration::from_secs(1) <= now) {
            self.overall.pop_front();
        }
        let crowded = real && self.overall.len() >= OVERALL_PER_SECOND;
        let pace = self.chat(chat, now);
        if let Some(rest) = pace.closed_until.checked_sub(now).filter(|rest| !rest.is_zero()) {
            return Err(Refusal::too_many(whole_seconds(rest)));
        }
        if !real {
            return Ok(());
        }
        let refilled = now.saturating_sub(pace.counted).as_secs_f64();
        pace.tokens = (pace.tokens + refilled).min(BURST);
        pace.counted = now;
        while pace.minute.front().is_some_and(|at| *at + MINUTE <= now) {
            pace.minute.pop_front();
        }
        let full = group && pace.minute.len() >= GROUP_PER_MINUTE;
        let wait = match pace.minute.front() {
            Some(first) if full => (*first + MINUTE).saturating_sub(now),
            _ if pace.tokens < 1.0 => Duration::from_secs_f64(1.0 - pace.tokens),
            _ if crowded => Duration::from_secs(1),
            _ => {
                pace.tokens -= 1.0;
                pace.minute.push_back(now);
                self.overall.push_back(now);
                return Ok(());
            }
        };
        let seconds = whole_seconds(wait);
        pace.closed_until = now + Duration::from_secs(seconds);
        Err(Refusal::too_many(seconds))
    }

    fn chat(&mut self, chat: i64, now: Duration) -> &mut ChatPace {
        self.chats.entry(chat).or_insert_with(|| ChatPace {
            closed_until: Duration::ZERO,
            tokens: BURST,
            counted: now,
            minute: VecDeque::new(),
        })
    }
}

fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_000_000);

    #[test]
    fn a_burst_passes_and_then_one_a_second() {
        let mut pace = Pace::new(true);
        for _ in 0..4 {
            assert!(pace.count(5, false, START).is_ok());
        }
        assert_eq!(pace.count(5, false, START).unwrap_err().retry_after, Some(1));
        assert!(pace.count(6, false, START).is_ok(), "another chat is not held");
        assert!(pace.count(5, false, START + Duration::from_secs(1)).is_ok());
    }

    #[test]
    fn a_group_takes_twenty_a_minute() {
        let mut pace = Pace::new(true);
        let at = |seconds| START + Duration::from_secs(seconds);
        for second in 0..20 {
            assert!(pace.count(-5, true, at(second)).is_ok());
        }
        assert_eq!(pace.count(-5, true, at(20)).unwrap_err().retry_after, Some(40));
        assert!(pace.count(-5, true, at(60)).is_ok());
    }

    #[test]
    fn a_closed_chat_is_closed_without_the_real_limits_too() {
        let mut pace = Pace::default();
        pace.close(5, START + Duration::from_secs(56));
        assert_eq!(pace.count(5, false, START).unwrap_err().retry_after, Some(56));
        assert!(pace.count(5, false, START + Duration::from_secs(56)).is_ok());
        assert!((0..100).all(|_| pace.count(6, false, START).is_ok()));
    }
}
