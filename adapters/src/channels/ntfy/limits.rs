//! What a notification holds.

use crate::channel::Capabilities;

/// What the channel can do. A label is cut by the phone, not refused by the server. A repeated send replaces the first only where
/// the server knows sequence ids, and rings again everywhere, so a doubtful one is repeated once and no more.
pub(super) const CAPABILITIES: Capabilities = Capabilities { label_limit: 40, sends_once: false, shows_content: false };
/// The most actions; the server refuses a fourth.
pub(super) const ACTIONS: usize = 3;
/// The most bytes of text. The server takes 4,096, but the relays of the phones' makers carry about 4 KB for everything,
/// actions included, and three actions with their addresses need up to 1.3 KB.
pub(super) const TEXT_BYTES: usize = 2_000;
/// The most bytes of a heading.
pub(super) const TITLE_BYTES: usize = 240;
