//! `GET, POST /a/{token}`: the answer page, which answers every kind of ask.
//!
//! The token is a capability bound to one delivery at a direct place: whoever was shown the card may answer it here. Looking
//! changes nothing. What is posted is checked by the same rules as at the source, claimed in the ledger like a tap, and carried
//! by the same task; an answer that is refused is drawn again, with everything that was typed and each mistake beside its field.

use std::sync::Arc;
use std::time::Duration;

use asks::card::Style;
use asks::errors::FieldError;
use asks::input::Input;
use asks::life::{Claim, Life, Note};
use asks::place::{Actor, Place};
use asks::{limits, validate};
use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde_json::Value;
use store::ledger::{Claimed, LedgerError};
use store::record::{AskRecord, AuditLine, Purpose};
use store::token::TapToken;
use subtle::ConstantTimeEq as _;

use super::guard;
use crate::answer::{self, policy};
use crate::hub::Hub;
use crate::pages::form::{self, Drawing, Posted, PostedFile, draw};
use crate::pages::{Shell, Tone};
use crate::show::{one_line, visible};
use crate::words::{self, Language, Words};

/// The most bytes of one answer, its files included. Ten files of 10 MB are more than a data URL should carry.
const LARGEST: usize = 32 * 1_048_576;
/// How long the page waits for the whole question.
const READ_DEADLINE: Duration = Duration::from_secs(5);
/// The most fields of one form; the specification has at most eight, with up to fifty options.
const MOST_FIELDS: usize = 1_000;

/// The routes.
pub(super) fn routes(hub: &Arc<Hub>, prefix: &str) -> Router {
    let shared = Shared { hub: Arc::clone(hub), prefix: prefix.to_owned() };
    Router::new().route("/a/{token}", get(look).post(send)).layer(DefaultBodyLimit::max(LARGEST)).with_state(shared)
}

/// The most bytes of a request to these routes.
pub(super) const fn largest_body() -> usize {
    LARGEST
}

#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    prefix: String,
}

/// An ask that somebody has opened who may answer it.
pub(super) struct Opened {
    /// The ask.
    pub record: AskRecord,
    /// The person's own place that it was opened from.
    pub place: Place,
    /// The page's path.
    pub address: String,
    /// What its form has to carry, where a session and not the address itself lets somebody answer.
    pub proof: Option<String>,
    /// The way back to the inbox, for whoever came from there.
    pub home: Option<String>,
}

/// What a page can offer to answer with.
enum Question {
    /// The whole ask.
    Whole(Input),
    /// Only the buttons of its card: the source cannot be asked right now.
    Buttons,
}

async fn look(State(shared): State<Shared>, Path(token): Path<String>, headers: HeaderMap) -> Response {
    match opened(&shared, &token).await {
        Ok(Some(opened)) => look_at(&shared.hub, &shared.prefix, &opened).await,
        Ok(None) => unknown(&shared.prefix, &headers),
        Err(error) => unreadable(&shared, &headers, &error),
    }
}

async fn send(State(shared): State<Shared>, Path(token): Path<String>, request: Request) -> Response {
    match opened(&shared, &token).await {
        Ok(Some(opened)) => send_to(&shared.hub, &shared.prefix, &opened, request).await,
        Ok(None) => unknown(&shared.prefix, request.headers()),
        Err(error) => unreadable(&shared, request.headers(), &error),
    }
}

/// Shows the page of an ask.
pub(super) async fn look_at(hub: &Arc<Hub>, prefix: &str, opened: &Opened) -> Response {
    Page::new(hub, prefix, opened).show(StatusCode::OK, None, &[]).await
}

/// Takes what was posted to the page of an ask.
pub(super) async fn send_to(hub: &Arc<Hub>, prefix: &str, opened: &Opened, request: Request) -> Response {
    let page = Page::new(hub, prefix, opened);
    let foreign = || {
        let shell = page.shell().saying(Tone::Bad, page.words.page_too_old());
        shell.respond(StatusCode::FORBIDDEN, &html! {})
    };
    if !guard::is_own(request.headers(), hub.public_url.as_ref()) {
        return foreign();
    }
    let posted = match posted(request).await {
        Ok(posted) => posted,
        Err(status) => {
            let megabytes = u64::try_from(LARGEST / 1_048_576).unwrap_or_default();
            let shell = page.shell().saying(Tone::Bad, page.words.too_large(megabytes));
            return shell.respond(status, &html! { p { a href=(opened.address) { (page.words.answer_title()) } } });
        }
    };
    let proof = posted.text("proof").unwrap_or_default();
    if opened.proof.as_ref().is_some_and(|known| !bool::from(known.as_bytes().ct_eq(proof.as_bytes()))) {
        return foreign();
    }
    if !opened.record.life.is_open() {
        // What was typed is not lost without a word: the page says how the ask stands.
        return page.show(StatusCode::CONFLICT, None, &[]).await;
    }
    page.take(&posted).await
}

async fn opened(shared: &Shared, token: &str) -> Result<Option<Opened>, LedgerError> {
    let hub = &shared.hub;
    let address = format!("{}/a/{token}", shared.prefix);
    let Some(token) = hub.ledger.token(&TapToken::from_outside(token).hash()).await? else { return Ok(None) };
    if token.purpose != Purpose::Page {
        return Ok(None);
    }
    let (Some(delivery), Some(record)) =
        (hub.ledger.delivery(token.delivery).await?, hub.ledger.ask(&token.ask).await?)
    else {
        return Ok(None);
    };
    // A shared place shows no such link; and a place that is not linked any more lets nobody answer.
    let linked = hub.links.direct_places(&record.account).contains(&delivery.place);
    let opened = Opened { record, place: delivery.place, address, proof: None, home: None };
    Ok((opened.place.is_direct() && linked).then_some(opened))
}

/// One page about one ask.
struct Page<'a> {
    hub: &'a Arc<Hub>,
    prefix: &'a str,
    opened: &'a Opened,
    words: &'static dyn Words,
}

impl<'a> Page<'a> {
    fn new(hub: &'a Arc<Hub>, prefix: &'a str, opened: &'a Opened) -> Self {
        Self { hub, prefix, opened, words: hub.words(&opened.record.account) }
    }

    fn shell(&self) -> Shell {
        let title = self.opened.record.card.title.as_deref().map(one_line).filter(|title| !title.is_empty());
        let language = self.hub.links.language(&self.opened.record.account);
        Shell::new(language, self.prefix, title.unwrap_or_else(|| self.words.answer_title())).with_script("answer.js")
    }

    /// The way back, for whoever came from the inbox.
    fn home(&self) -> Markup {
        html! { @if let Some(home) = &self.opened.home { p { a href=(home) { (self.words.back_to_inbox()) } } } }
    }

    /// Reads the whole question, where the source answers in time and still waits for it.
    async fn question(&self) -> Question {
        let record = &self.opened.record;
        let Some(source) = self.hub.source(&record.key) else { return Question::Buttons };
        let reading = source.port.read(&record.account, &record.key.conversation);
        let Ok(Ok(conversation)) = tokio::time::timeout(READ_DEADLINE, reading).await else { return Question::Buttons };
        let input = conversation.pending.filter(|(ask, _)| *ask == record.key.ask);
        let read = input.and_then(|(_, input)| validate::read_tolerantly(&record.card.kind, &input).ok());
        read.map_or(Question::Buttons, Question::Whole)
    }

    /// The page as it stands: a form, or how it ended.
    async fn show(&self, status: StatusCode, posted: Option<&Posted>, errors: &[FieldError]) -> Response {
        let record = &self.opened.record;
        let said = words::status(self.words, &record.life, false);
        if !record.life.is_open() {
            let tone = if record.life.is_over() { Tone::Good } else { Tone::Plain };
            let text = said.unwrap_or_else(|| self.words.on_its_way());
            let body = html! {
                (self.asked(None))
                // The page follows the answer by itself, with script and without.
                @if !record.life.is_over() {
                    span data-follow="" hidden {}
                    noscript { meta http-equiv="refresh" content="2"; }
                }
                (self.home())
            };
            return self.shell().saying(tone, text).respond(status, &body);
        }
        let mut shell = self.shell();
        if let Some(said) = said {
            shell = shell.saying(Tone::Bad, said);
        }
        match self.question().await {
            Question::Whole(ask) => {
                let (kept, told) = self.refused();
                let posted = posted.or(kept.as_ref());
                let mut problems = form::problems(&ask, errors, self.words);
                problems.extend(told);
                let drawing = Drawing {
                    ask: &ask,
                    posted,
                    problems: &problems,
                    max_file_size: limits::DEFAULT_MAX_FILE_SIZE,
                    words: self.words,
                };
                shell.respond(status, &self.form(Some(&ask), &draw(&drawing)))
            }
            Question::Buttons => {
                let shell = shell.saying(Tone::Plain, self.words.cannot_read_ask());
                shell.respond(status, &self.form(None, &self.card_buttons()))
            }
        }
    }

    /// What the source had refused: the answer to draw again, and its own reasons.
    fn refused(&self) -> (Option<Posted>, Vec<form::Problem>) {
        let Life::Live { note: Some(Note::AnswerRefused { claim, fields }) } = &self.opened.record.life else {
            return (None, Vec::new());
        };
        let problems = fields.iter().map(|(path, sentence)| form::from_source(path, &visible(sentence))).collect();
        (claim.response.as_ref().map(form::typed), problems)
    }

    /// The question as it was asked.
    fn asked(&self, ask: Option<&Input>) -> Markup {
        let text = ask.map_or(self.opened.record.card.text.as_str(), |ask| ask.question().prompt.as_str());
        html! { p class="said" dir="auto" { (visible(text)) } }
    }

    fn form(&self, ask: Option<&Input>, fields: &Markup) -> Markup {
        // Where the question is a field's own label it is not said twice.
        let is_label = matches!(ask, Some(Input::Choice(_) | Input::Markdown(_) | Input::Files(_)));
        html! {
            // Whoever opens the page begins at the question, with and without script.
            section class="card" tabindex="-1" autofocus {
                @if !is_label { (self.asked(ask)) }
                form method="post" action=(self.opened.address) enctype="multipart/form-data" data-draft=(self.draft()) {
                    @if let Some(proof) = &self.opened.proof { input type="hidden" name="proof" value=(proof); }
                    (fields)
                }
            }
            (self.home())
        }
    }

    /// What a browser keeps a draft under; it must not tell the token.
    fn draft(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::new().chain_update(b"draft").chain_update(&self.opened.address).finalize();
        digest.iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    /// The card's own buttons, of which each says what it sends.
    fn card_buttons(&self) -> Markup {
        let card = &self.opened.record.card;
        let offered: Vec<_> = card
            .buttons
            .iter()
            .filter(|button| crate::show::content::speaks_for_itself(card, button))
            .filter(|button| !self.opened.record.dead_buttons.contains(&button.id))
            .collect();
        html! {
            @if offered.is_empty() { p class="notice bad" { (self.words.try_again_later()) } }
            div class="actions" {
                @for button in offered {
                    button name="button" value=(button.id) { (one_line(&button.label)) }
                }
            }
        }
    }

    /// What cannot be undone is asked once more, where the person wants that.
    fn ask_once_more(&self, posted: &Posted, label: &str) -> Response {
        let again = ["button", "confirmed"].into_iter().filter_map(|name| Some((name, posted.text(name)?)));
        let body = html! {
            section class="card" {
                (self.asked(None))
                form method="post" action=(self.opened.address) {
                    @if let Some(proof) = &self.opened.proof { input type="hidden" name="proof" value=(proof); }
                    input type="hidden" name="sure" value="yes";
                    div class="actions" {
                        @for (name, value) in again {
                            button class="danger" name=(name) value=(value) { (self.words.yes(label)) }
                        }
                        a class="button" href=(self.opened.address) { (self.words.back()) }
                    }
                }
            }
        };
        self.shell().saying(Tone::Plain, self.words.really(label)).respond(StatusCode::OK, &body)
    }

    /// Takes what was posted: claims it, or draws it again with its mistakes.
    async fn take(&self, posted: &Posted) -> Response {
        let (label, button, response, style) = match (self.question().await, posted.text("button")) {
            (_, Some(id)) => {
                let card = &self.opened.record.card;
                let Some(button) = card.buttons.iter().find(|button| button.id.as_str() == id) else {
                    return self.show(StatusCode::UNPROCESSABLE_ENTITY, None, &[]).await;
                };
                (one_line(&button.label), button.id.clone(), None, button.style)
            }
            (Question::Whole(ask), None) => {
                let answer = form::read(&ask, posted);
                let errors = form::check(&ask, posted, &answer, limits::DEFAULT_MAX_FILE_SIZE);
                if !errors.is_empty() {
                    return self.show(StatusCode::UNPROCESSABLE_ENTITY, Some(posted), &errors).await;
                }
                let label = label_of(&ask, &answer, self.words);
                let style = style_of(&ask, &answer);
                (label, "".into(), Some(answer), style)
            }
            (Question::Buttons, None) => {
                return self.show(StatusCode::SERVICE_UNAVAILABLE, Some(posted), &[]).await;
            }
        };
        let ruling = policy::ruling_for_owner(&self.hub.links, &self.opened.record.account, &self.opened.place, style);
        let Ok(ruling) = ruling else {
            return self.show(StatusCode::FORBIDDEN, None, &[]).await;
        };
        if ruling.once_more && !posted.has("sure", "yes") {
            return self.ask_once_more(posted, &label);
        }
        let claim = Claim {
            button,
            label,
            actor: Actor::Owner,
            actor_name: None,
            place: self.opened.place.clone(),
            at: self.hub.now(),
            response,
        };
        match claim_as_owner(self.hub, &self.opened.record, claim, "on the answer page").await {
            // Where somebody was faster, or the button is refused, the page says how it stands.
            Ok(Claimed::Won(_) | Claimed::Lost(_) | Claimed::Unknown) => {
                Redirect::to(&self.opened.address).into_response()
            }
            Err(error) => {
                tracing::error!(ask = %self.opened.record.key, "an answer from the answer page was not saved: {error}");
                self.shell()
                    .saying(Tone::Bad, self.words.not_saved())
                    .respond(StatusCode::SERVICE_UNAVAILABLE, &self.asked(None))
            }
        }
    }
}

/// Claims an ask for the account's own person, who is known by a page, and carries the answer on. The caller has made sure who it is.
pub(super) async fn claim_as_owner(
    hub: &Arc<Hub>,
    record: &AskRecord,
    claim: Claim,
    how: &str,
) -> Result<Claimed, LedgerError> {
    let line = AuditLine {
        at: claim.at,
        ask: record.key.clone(),
        account: record.account.clone(),
        actor: claim.actor.to_string(),
        place: claim.place.to_string(),
        message: None,
        button: claim.button.to_string(),
        event: "claimed".to_owned(),
        detail: how.to_owned(),
    };
    hub.board.count("askgate_taps_total");
    let claimed = hub.ledger.claim(&record.key, claim, line).await?;
    if let Claimed::Won(record) = &claimed {
        hub.board.count("askgate_claims_total");
        tracing::info!(ask = %record.key, "{} was answered {how}", record.key);
        answer::start(hub, record.key.clone());
        crate::announce::touch(hub, &record.key).await?;
    }
    Ok(claimed)
}

/// Whether an answer does something that cannot be undone.
fn style_of(ask: &Input, answer: &Value) -> Style {
    let confirmed = answer.pointer("/content/confirmed").and_then(Value::as_bool).unwrap_or_default();
    match ask {
        Input::Confirm(ask) if ask.destructive && confirmed => Style::Destructive,
        _ => Style::Default,
    }
}

/// What the cards say was answered.
fn label_of(ask: &Input, answer: &Value, words: &dyn Words) -> String {
    let content = answer.get("content");
    let label = match (ask, content) {
        (_, None) => words.skip(),
        (Input::Choice(ask), Some(content)) => {
            let ids = content.get("selected").and_then(Value::as_array).cloned().unwrap_or_default();
            let chosen = ids.iter().filter_map(|id| ask.option(id.as_str()?)).map(|option| option.label.clone());
            let other = content.get("other").and_then(Value::as_str).map(str::to_owned);
            chosen.chain(other).collect::<Vec<_>>().join(", ")
        }
        (Input::Confirm(ask), Some(content)) => {
            let confirmed = content.get("confirmed").and_then(Value::as_bool).unwrap_or_default();
            if confirmed { ask.approve().to_owned() } else { ask.deny().to_owned() }
        }
        (Input::Markdown(_), Some(_)) => words.your_text(),
        (Input::Form(_), Some(_)) => words.your_form(),
        (Input::Files(_), Some(content)) => {
            words.your_files(content.get("files").and_then(Value::as_array).map_or(0, Vec::len))
        }
    };
    asks::text::cut(&one_line(&label), 80).into_owned()
}

/// Reads a form of either encoding.
async fn posted(request: Request) -> Result<Posted, StatusCode> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("multipart/form-data") {
        let axum::Form(fields) =
            axum::Form::<Vec<(String, String)>>::from_request(request, &()).await.map_err(|error| error.status())?;
        return Ok(fields.into_iter().take(MOST_FIELDS).collect());
    }
    let mut parts = Multipart::from_request(request, &()).await.map_err(|error| error.status())?;
    let mut posted = Posted::default();
    let mut count = 0;
    while let Some(field) = parts.next_field().await.map_err(|error| error.status())? {
        count += 1;
        if count > MOST_FIELDS {
            return Err(StatusCode::UNPROCESSABLE_ENTITY);
        }
        let name = field.name().unwrap_or_default().to_owned();
        match field.file_name().map(str::to_owned) {
            Some(filename) => {
                let mime_type = field.content_type().unwrap_or_default().to_owned();
                let bytes = field.bytes().await.map_err(|error| error.status())?.to_vec();
                // An empty file field is sent as a file without a name.
                if !filename.is_empty() && name == "files" {
                    posted.files.push(PostedFile { filename, mime_type, bytes });
                }
            }
            None => posted.push(name, &field.text().await.map_err(|error| error.status())?),
        }
    }
    Ok(posted)
}

/// The language that a stranger's browser asks for.
pub(super) fn language(headers: &HeaderMap) -> Language {
    let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    wanted.split(',').find_map(|one| Language::from_code(one.split(';').next()?.trim())).unwrap_or_default()
}

/// The page of an ask that is not there.
pub(super) fn unknown(prefix: &str, headers: &HeaderMap) -> Response {
    let language = language(headers);
    let words = language.words();
    Shell::new(language, prefix, words.answer_title())
        .saying(Tone::Bad, words.no_such_page())
        .respond(StatusCode::NOT_FOUND, &html! {})
}

fn unreadable(shared: &Shared, headers: &HeaderMap, error: &LedgerError) -> Response {
    tracing::error!("the answer page cannot look up its ask: {error}");
    let language = language(headers);
    let words = language.words();
    Shell::new(language, &shared.prefix, words.answer_title())
        .saying(Tone::Bad, words.not_saved())
        .respond(StatusCode::SERVICE_UNAVAILABLE, &html! {})
}
