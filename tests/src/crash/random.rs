//! A random workload with kills at random points, then quiet, then [`check`](super::check).

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use sim::terreno::{AskSpec, Script, Step, TurnOutcome, Via};
use tokio::task::JoinSet;

use super::check::{Answer, Evidence, Fate, TapSeen, name};
use super::crowd::{Copy, Crowd, Told, told};
use super::dice::Dice;
use crate::command;
use crate::gateway::Gateway;
use crate::screen::{Channel, Tap};
use crate::world::{Setup, World};

const PEOPLE: u32 = 12;
/// So many asks a person is asked at most, so that the pace of one chat does not decide how long a run takes.
const ASKS_EACH: usize = 10;
/// How often somebody who wants to press something looks for a card that can be pressed.
const LOOKS_FOR_A_CARD: usize = 6;
/// How long it may take until all is quiet.
const PATIENCE: Duration = Duration::from_secs(40);
/// For how many looks, a quarter of a second apart, nothing may be wrong before it counts as quiet.
const QUIET_LOOKS: u32 = 6;

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// From which seed it can be repeated (though not to the millisecond).
    pub seed: u64,
    /// How often the process was killed.
    pub kills: usize,
    /// How many asks there were.
    pub asks: usize,
    /// How many presses.
    pub taps: usize,
    /// How many of them were acknowledged as recorded.
    pub recorded: usize,
    /// How many answers the app gave.
    pub in_app: usize,
    /// How many answers the host took back.
    pub undone: usize,
    /// How many answers were posted again and refused, without effect.
    pub refused_again: usize,
    /// How many cards exist twice, because a kill hid whether a send had arrived.
    pub second_copies: usize,
    /// How many of them had to be pressed before they knew that the ask was answered.
    pub orphans: usize,
    /// From the last restart until every card was live or settled.
    pub quiet: Duration,
    /// What does not hold.
    pub violations: Vec<String>,
    /// What the processes printed.
    pub log: String,
}

impl Run {
    /// The head of a table of runs.
    pub const HEAD: &'static str = "              seed  kills  asks  taps  recorded  in app  undone  refused again  second copies  orphans  violations  quiet s";

    /// The run as a line of a table.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{:>18}  {:>5}  {:>4}  {:>4}  {:>8}  {:>6}  {:>6}  {:>13}  {:>13}  {:>7}  {:>10}  {:.1}",
            self.seed,
            self.kills,
            self.asks,
            self.taps,
            self.recorded,
            self.in_app,
            self.undone,
            self.refused_again,
            self.second_copies,
            self.orphans,
            self.violations.len(),
            self.quiet.as_secs_f64()
        )
    }
}

/// One ask that may come to be.
#[derive(Debug, Clone)]
struct Known {
    person: usize,
    history: String,
    call: String,
    mark: String,
    labels: BTreeMap<String, String>,
    speaks: bool,
}

/// What is asked, and how it goes on.
struct Plot {
    kind: &'static str,
    input: Value,
    script: Script,
    /// Whether the agent says something after an answer that stands.
    speaks: bool,
    /// Whether it asks once more after the answer.
    asks_next: bool,
}

struct Tapped {
    ask: usize,
    channel: Channel,
    message: u64,
    data: String,
    button: String,
    tap: Tap,
}

struct Play {
    world: World,
    crowd: Crowd,
    dice: Dice,
    asks: Vec<Known>,
    taps: Vec<Tapped>,
    kills: Vec<Duration>,
    in_app: JoinSet<()>,
}

/// Plays until so many kills, and looks what came of it.
///
/// # Errors
/// If the scene cannot be set; what does not hold is no error but part of the run.
pub async fn run(seed: u64, kills: usize) -> anyhow::Result<Run> {
    let world = World::start().await?;
    let crowd = Crowd::join(&world, PEOPLE);
    let setup = crowd.setup(&Channel::ALL, "400ms");
    let mut play = Play {
        world,
        crowd,
        dice: Dice::new(seed),
        asks: Vec::new(),
        taps: Vec::new(),
        kills: Vec::new(),
        in_app: JoinSet::new(),
    };
    let mut run = Run { seed, kills, ..Run::default() };
    let mut gateway = play.world.gateway(&setup).await?;
    for _ in 0..kills {
        // Some kills hit a process that has hardly begun, others one that has long been at work.
        let life = if play.dice.chance(40) { play.dice.millis(20, 700) } else { play.dice.millis(700, 3000) };
        play.act_for(life).await?;
        play.kills.push(play.world.discord.now());
        run.log.push_str(&gateway.kill().await?);
        let pause = play.dice.millis(0, 300);
        play.act_for(pause).await?;
        gateway = play.world.gateway_unready(&setup)?;
    }
    let back = play.world.discord.now();
    play.act_for(Duration::from_millis(500)).await?;
    play.in_app.join_all().await;
    let Play { world, crowd, asks, mut taps, kills, .. } = play;
    let mut scene = Scene { world, crowd, asks, kills };

    let quiet_at = scene.quiet(&taps).await;
    run.quiet = quiet_at.unwrap_or_else(|| scene.world.discord.now()).saturating_sub(back);
    run.orphans = scene.press_orphans(&mut taps).await?;
    scene.finish(&setup, gateway, &taps, &mut run).await?;
    Ok(run)
}

impl Plot {
    fn new(number: usize, dice: &mut Dice) -> Self {
        let (prompt, said) = (format!("Ask q{number}q?"), format!("Said q{number}q."));
        let slow = Script::new().slow(dice.millis(0, 400));
        let plot = |kind, input, script| Self { kind, input, script, speaks: true, asks_next: false };
        match dice.below(10) {
            0..4 => plot("confirm", confirm(&prompt), slow.say(said)),
            4 | 5 => plot("choice", choice(&prompt, &["Red", "Green", "Blue"]), slow.say(said)),
            6 => plot("choice", choice(&prompt, &["One", "Two", "Three", "Four", "Five"]), slow.say(said)),
            7 => plot("confirm", confirm(&prompt), slow.fail_before_output("overloaded").say(said)),
            8 => {
                Self { speaks: false, ..plot("confirm", confirm(&prompt), slow.fail_after_output(said, "overloaded")) }
            }
            _ => {
                let next = AskSpec::new("confirm", confirm(&format!("Ask z{number}z?")));
                let script = slow.then(Step::Ask(next.with_id(format!("call_z{number}"))));
                let script = script.say(format!("Said z{number}z."));
                Self { speaks: false, asks_next: true, ..plot("confirm", confirm(&prompt), script) }
            }
        }
    }
}

fn confirm(prompt: &str) -> Value {
    json!({"prompt": prompt, "confirmLabel": "Go", "denyLabel": "Stop"})
}

fn choice(prompt: &str, labels: &[&str]) -> Value {
    let option = |label: &&str| json!({"id": label.to_lowercase(), "label": label});
    json!({"prompt": prompt, "select": "one", "options": labels.iter().map(option).collect::<Vec<_>>()})
}

impl Play {
    async fn act_for(&mut self, time: Duration) -> anyhow::Result<()> {
        let until = self.world.discord.now() + time;
        while self.world.discord.now() < until {
            self.act()?;
            let pause = self.dice.millis(2, 70).min(until.saturating_sub(self.world.discord.now()));
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    fn act(&mut self) -> anyhow::Result<()> {
        match self.dice.below(100) {
            0..24 => self.ask(1),
            // So many at once that some wait for their chat's pace when the kill comes.
            24..30 => self.ask(6),
            30..75 => self.tap(),
            75..82 => self.tap_again(),
            82..92 => self.answer_in_app(),
            _ => Ok(()),
        }
    }

    fn ask(&mut self, count: usize) -> anyhow::Result<()> {
        let person = usize::try_from(self.dice.below(u64::from(PEOPLE)))?;
        (0..count).try_for_each(|_| self.ask_one(person))
    }

    fn ask_one(&mut self, person: usize) -> anyhow::Result<()> {
        if self.asks.iter().filter(|ask| ask.person == person).count() >= ASKS_EACH {
            return Ok(());
        }
        let number = self.asks.len();
        let plot = Plot::new(number, &mut self.dice);
        let email = self.crowd.people.get(person).context("nobody")?.email.clone();
        let spec = AskSpec::new(plot.kind, plot.input).with_id(format!("call_q{number}"));
        let asked = self.world.terreno.ask_then(&email, spec, plot.script)?;
        let pending = self.world.terreno.read(|state| state.pending_in(&asked.history_id));
        let labels = labels_of(&pending.map(|pending| pending.card).unwrap_or_default());
        let (history, call, mark) = (asked.history_id, asked.tool_call_id, format!("q{number}q"));
        let first = Known { person, history, call, mark, labels, speaks: plot.speaks };
        if plot.asks_next {
            let labels = [("approve", "Go"), ("deny", "Stop")].map(|(id, label)| (id.to_owned(), label.to_owned()));
            let (call, mark) = (format!("call_z{number}"), format!("z{number}z"));
            let next = Known { call, mark, labels: BTreeMap::from(labels), speaks: true, ..first.clone() };
            self.asks.extend([first, next]);
        } else {
            self.asks.push(first);
        }
        Ok(())
    }

    fn tap(&mut self) -> anyhow::Result<()> {
        let first = if self.dice.chance(50) { Channel::Telegram } else { Channel::Discord };
        let mut tapped = None;
        for _ in 0..LOOKS_FOR_A_CARD {
            let ask = usize::try_from(self.dice.below(self.asks.len() as u64))?;
            if !self.asks.is_empty() && self.tap_at(ask, first)? {
                tapped = Some(ask);
                break;
            }
        }
        let Some(ask) = tapped.filter(|_| self.dice.chance(35)) else { return Ok(()) };
        // A double tap, or one on the other copy at the same moment; the same button or another one.
        let other = if first == Channel::Telegram { Channel::Discord } else { Channel::Telegram };
        let second = if self.dice.chance(50) { first } else { other };
        self.tap_at(ask, second)?;
        Ok(())
    }

    fn tap_at(&mut self, ask: usize, channel: Channel) -> anyhow::Result<bool> {
        let known = self.asks.get(ask).context("no ask")?;
        let person = self.crowd.people.get(known.person).context("nobody")?;
        let seen = person.sees(&self.world, channel);
        let live: Vec<&Copy> = seen.iter().filter(|copy| is_card(copy, &known.mark) && copy.is_live()).collect();
        let Some(copy) = self.dice.pick(&live) else { return Ok(false) };
        let Some((label, data)) = self.dice.pick(&copy.buttons) else { return Ok(false) };
        let button = known.labels.iter().find(|(_, known)| *known == label).map(|(id, _)| id.clone());
        let tap = person.press(&self.world, channel, copy.id, data)?;
        let button = button.with_context(|| format!("{label} is no button of {known:?}"))?;
        self.taps.push(Tapped { ask, channel, message: copy.id, data: data.clone(), button, tap });
        Ok(true)
    }

    /// Presses once more what was pressed before, as an app does that still shows the old card.
    fn tap_again(&mut self) -> anyhow::Result<()> {
        let Some(Tapped { ask, channel, message, data, button, .. }) = self.dice.pick(&self.taps) else {
            return Ok(());
        };
        let (ask, channel, message, data, button) = (*ask, *channel, *message, data.clone(), button.clone());
        let person = self.asks.get(ask).and_then(|known| self.crowd.people.get(known.person)).context("nobody")?;
        let tap = person.press(&self.world, channel, message, &data)?;
        self.taps.push(Tapped { ask, channel, message, data, button, tap });
        Ok(())
    }

    fn answer_in_app(&mut self) -> anyhow::Result<()> {
        let Some(known) = self.dice.pick(&self.asks).cloned() else { return Ok(()) };
        let person = self.crowd.people.get(known.person).context("nobody")?;
        let waiting = self.world.terreno.pending(&person.email);
        let Some(pending) = waiting.iter().find(|pending| pending.tool_call_id == known.call) else { return Ok(()) };
        let buttons: Vec<String> = labels_of(&pending.card).into_keys().collect();
        let (terreno, button) = (self.world.terreno.clone(), self.dice.pick(&buttons).cloned());
        self.in_app.spawn(async move {
            let _reply = match button {
                Some(button) => terreno.press(&known.history, &button).await,
                None => terreno.answer(&known.history, json!({"action": "decline"})).await,
            };
        });
        Ok(())
    }
}

/// Where each ask stands in the ledger, by conversation and ask; empty while it was not read.
type Ledger = HashMap<(String, String), String>;

/// The world after the workload.
struct Scene {
    world: World,
    crowd: Crowd,
    asks: Vec<Known>,
    kills: Vec<Duration>,
}

impl Scene {
    /// Waits until nothing is wrong any more; when that began, or `None` when it did not come to that.
    async fn quiet(&self, taps: &[Tapped]) -> Option<Duration> {
        let mut looks = 0;
        let mut since = self.world.discord.now();
        let calm = async {
            while looks < QUIET_LOOKS {
                tokio::time::sleep(Duration::from_millis(250)).await;
                if self.violations(taps, &HashMap::new(), true).is_empty() {
                    looks += 1;
                } else {
                    looks = 0;
                    since = self.world.discord.now();
                }
            }
        };
        tokio::time::timeout(PATIENCE, calm).await.ok().map(|()| since)
    }

    /// Presses every copy that does not know yet that its ask is answered, once.
    async fn press_orphans(&mut self, taps: &mut Vec<Tapped>) -> anyhow::Result<usize> {
        let mut count = 0;
        let evidence = self.evidence(taps, &HashMap::new());
        for evidence in &evidence {
            for (channel, copy) in evidence.orphans() {
                // Asks that never came to be left no evidence, so places in the two lists differ.
                let ask = self.asks.iter().position(|known| known.mark == evidence.mark).context("no ask")?;
                let known = self.asks.get(ask).context("no ask")?;
                let person = self.crowd.people.get(known.person).context("nobody")?;
                let Some((label, data)) = copy.buttons.first() else { continue };
                let button = known.labels.iter().find(|(_, known)| *known == label).map(|(id, _)| id.clone());
                let tap = person.press(&self.world, channel, copy.id, data)?;
                let button = button.unwrap_or_default();
                taps.push(Tapped { ask, channel, message: copy.id, data: data.clone(), button, tap });
                count += 1;
            }
        }
        let none_left = async {
            while !self.violations(taps, &HashMap::new(), false).is_empty() {
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
        };
        let _late = tokio::time::timeout(Duration::from_secs(if count == 0 { 1 } else { 15 }), none_left).await;
        Ok(count)
    }

    /// Ends the gateway, reads the ledger, and judges.
    async fn finish(&self, setup: &Setup, mut gateway: Gateway, taps: &[Tapped], run: &mut Run) -> anyhow::Result<()> {
        gateway.terminate().await?;
        gateway.wait_end(Duration::from_secs(20)).await?;
        run.log.push_str(&gateway.log());
        std::fs::write(self.world.file(), self.world.configuration(setup))?;
        let verified = command::with_file(&["store", "verify"], &self.world.file())?;
        if verified.code != Some(0) {
            run.violations.push(format!("the store is damaged: {verified:?}"));
        }
        let listed = command::with_file(&["asks", "--all", "--json"], &self.world.file())?.lines()?;
        let field = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let ledger: Ledger =
            listed.iter().map(|row| ((field(row, "conversation"), field(row, "ask")), field(row, "state"))).collect();
        let evidence = self.evidence(taps, &ledger);
        run.violations.extend(evidence.iter().flat_map(|ask| ask.violations(&self.kills, false)));
        if let Err(error) = self.world.assert_well_behaved() {
            run.violations.push(error.to_string());
        }
        let answers = || evidence.iter().flat_map(|ask| &ask.answers);
        let ended = |outcome| answers().filter(|answer| answer.fate.outcome == outcome).count();
        run.asks = evidence.len();
        run.taps = taps.len();
        run.recorded = evidence.iter().flat_map(|ask| &ask.taps).filter(|tap| tap.told == Told::Recorded).count();
        run.in_app = answers().filter(|answer| answer.fate.via == Via::App).count();
        run.undone = ended(TurnOutcome::Undone);
        run.refused_again = ended(TurnOutcome::NotPending);
        run.second_copies =
            evidence.iter().flat_map(|ask| ask.copies.values()).filter(|copies| copies.len() > 1).count();
        Ok(())
    }

    fn violations(&self, taps: &[Tapped], ledger: &Ledger, forgive: bool) -> Vec<String> {
        self.evidence(taps, ledger).iter().flat_map(|ask| ask.violations(&self.kills, forgive)).collect()
    }

    /// All that is known of each ask that came to be.
    fn evidence(&self, taps: &[Tapped], ledger: &Ledger) -> Vec<Evidence> {
        let see = |channel| self.crowd.people.iter().map(|person| person.sees(&self.world, channel)).collect();
        let seen: Vec<(Channel, Vec<Vec<Copy>>)> =
            Channel::ALL.into_iter().map(|channel| (channel, see(channel))).collect();
        self.asks
            .iter()
            .enumerate()
            .filter_map(|(number, known)| self.one(number, known, taps, &seen, ledger))
            .collect()
    }

    fn one(
        &self,
        number: usize,
        known: &Known,
        taps: &[Tapped],
        seen: &[(Channel, Vec<Vec<Copy>>)],
        ledger: &Ledger,
    ) -> Option<Evidence> {
        let (status, answers) = self.world.terreno.read(|state| {
            let answers = state.answers(&known.history, &known.call).into_iter().map(|turn| Answer {
                fate: Fate { via: turn.via, outcome: turn.outcome },
                button: turn.button_id.clone(),
            });
            (state.ask_status(&known.history, &known.call), answers.collect::<Vec<_>>())
        });
        let status = status?;
        let at = |channel: &(Channel, Vec<Vec<Copy>>)| channel.1.get(known.person).cloned().unwrap_or_default();
        let said = format!("Said {}", known.mark);
        Some(Evidence {
            mark: known.mark.clone(),
            pending: status == "pending",
            labels: known.labels.clone(),
            answers,
            taps: taps
                .iter()
                .filter(|tapped| tapped.ask == number)
                .map(|tapped| TapSeen { button: tapped.button.clone(), told: told(&self.world, &tapped.tap) })
                .collect(),
            copies: seen
                .iter()
                .map(|channel| {
                    (name(channel.0), at(channel).into_iter().filter(|copy| is_card(copy, &known.mark)).collect())
                })
                .collect(),
            state: (!ledger.is_empty()).then(|| {
                let key = (known.history.clone(), known.call.clone());
                ledger.get(&key).cloned().unwrap_or_else(|| "unknown".to_owned())
            }),
            words: seen.iter().flat_map(at).filter(|copy| copy.text.contains(&said)).count(),
            speaks: known.speaks,
        })
    }
}

fn is_card(copy: &Copy, mark: &str) -> bool {
    copy.text.contains(&format!("Ask {mark}?"))
}

/// Label by id of a card's buttons.
fn labels_of(card: &Value) -> BTreeMap<String, String> {
    let text = |button: &Value, key: &str| button.get(key).and_then(Value::as_str).map(str::to_owned);
    let buttons = card.get("buttons").and_then(Value::as_array).into_iter().flatten();
    buttons.filter_map(|button| Some((text(button, "id")?, text(button, "label")?))).collect()
}
