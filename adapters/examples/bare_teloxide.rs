//! The baseline that the benchmarks measure against: a bot on teloxide's own dispatcher that acknowledges each press and edits
//! its message, and does nothing else.
//!
//! It asks nobody, keeps nothing and paces nothing, so no service that carries answers can be held to it in fairness; that is
//! what makes it a good ruler. Started as `bare_teloxide API_URL TOKEN`.

use teloxide::prelude::*;
use teloxide::types::CallbackQuery;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(api_url), Some(token)) = (arguments.next(), arguments.next()) else {
        return Err("use: bare_teloxide API_URL TOKEN".into());
    };
    let bot = Bot::new(token).set_api_url(api_url.parse()?);
    let handler = Update::filter_callback_query().endpoint(pressed);
    Dispatcher::builder(bot, handler).build().dispatch().await;
    Ok(())
}

async fn pressed(bot: Bot, query: CallbackQuery) -> ResponseResult<()> {
    bot.answer_callback_query(query.id).await?;
    if let Some(message) = query.message {
        bot.edit_message_text(message.chat().id, message.id(), "Answered").await?;
    }
    Ok(())
}
