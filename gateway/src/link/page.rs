//! The pages that link an account: sign in, then confirm.

use asks::place::{ChannelKind, Place};
use maud::{Markup, html};

use super::codes::Linkee;
use crate::show::one_line;
use crate::words::Words;

/// What stands on every page about one code.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Whom the code is for.
    pub linkee: &'a Linkee,
    /// The path its forms post to.
    pub address: &'a str,
    /// What the browser has to send along, so that no other page can post.
    pub proof: &'a str,
}

/// An app that can be chosen: its name in the form, and its label.
pub type App = (String, String);

/// The chat account as a person recognises it: platform, name and number.
#[must_use]
pub fn chat(linkee: &Linkee) -> String {
    let name = linkee.name.as_deref().map(one_line).filter(|name| !name.is_empty());
    let platform = platform(linkee.place.channel());
    match name {
        Some(name) => format!("{platform} {name} ({})", number(&linkee.place)),
        None => format!("{platform} {}", number(&linkee.place)),
    }
}

/// The first page: who, what, and the sign-in.
#[must_use]
pub fn sign_in(about: About<'_>, words: &dyn Words, apps: &[App], chosen: Option<&str>, email: &str) -> Markup {
    html! {
        (facts(about, words, apps))
        form method="post" action=(about.address) class="card" {
            input type="hidden" name="step" value="sign-in";
            input type="hidden" name="proof" value=(about.proof);
            @if let [(name, _)] = apps {
                input type="hidden" name="source" value=(name);
            } @else {
                div class="field" {
                    label for="source" { (words.link_app()) }
                    select id="source" name="source" {
                        @for (name, label) in apps {
                            option value=(name) selected[chosen == Some(name.as_str())] { (label) }
                        }
                    }
                }
            }
            div class="field" {
                label for="email" { (words.link_email()) }
                input id="email" name="email" type="email" autocomplete="username" maxlength="320" value=(email);
            }
            div class="field" {
                label for="password" { (words.link_password()) }
                input id="password" name="password" type="password" autocomplete="current-password" maxlength="1000";
            }
            details {
                summary { (words.link_token_instead()) }
                div class="field" {
                    label for="token" { (words.link_token()) }
                    input id="token" name="token" type="password" autocomplete="off" maxlength="8000";
                }
            }
            div class="actions" { button class="primary" type="submit" { (words.link_continue()) } }
        }
    }
}

/// The second page: only its button links.
#[must_use]
pub fn confirm(about: About<'_>, words: &dyn Words, who: &str, app: &str) -> Markup {
    html! {
        form method="post" action=(about.address) class="card" {
            input type="hidden" name="step" value="confirm";
            input type="hidden" name="proof" value=(about.proof);
            p { (words.link_question(who, app, &chat(about.linkee))) }
            p class="soft" { (words.link_only_yours()) }
            div class="actions" {
                button class="primary" type="submit" { (words.link_connect()) }
                a class="button" href=(about.address) { (words.link_back()) }
            }
        }
    }
}

fn facts(about: About<'_>, words: &dyn Words, apps: &[App]) -> Markup {
    let name = about.linkee.name.as_deref().map(one_line).filter(|name| !name.is_empty());
    html! {
        div class="card" {
            p { (words.link_intro()) }
            dl class="facts" {
                dt { (words.link_chat()) }
                dd { (platform(about.linkee.place.channel())) @if let Some(name) = &name { " " (name) } }
                dt { (words.link_number()) }
                dd { (number(&about.linkee.place)) }
                @if let [(_, label)] = apps {
                    dt { (words.link_app()) }
                    dd { (label) }
                }
            }
            p class="soft" { (words.link_only_yours()) }
            ul {
                li { (words.link_may()) }
                li { (words.link_stored()) }
            }
        }
    }
}

const fn platform(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Telegram => "Telegram",
        ChannelKind::Discord => "Discord",
        ChannelKind::Ntfy => "ntfy",
        ChannelKind::Web => "Web",
    }
}

fn number(place: &Place) -> String {
    place.address().rsplit(':').next().unwrap_or_default().to_owned()
}
