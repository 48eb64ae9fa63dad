//! The command line of the real binary: what it prints, where, and how it ends.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use sim::telegram;
use sim::terreno::{AskSpec, Script};
use tests::cards::{examples, fixtures, vectors};
use tests::command::{Ran, askgate, with_file};
use tests::{Channel, EMAIL, Gateway, PASSWORD, SOON, Setup, World};

const ADMIN: &str = "an-admin-token-of-the-tests";

const GOOD: &str = r#"
[telegram]
token = "123456:a-token-of-the-right-shape-for-a-bot-"
api_url = "http://127.0.0.1:PORT"

[discord]
token = "a-token"
api_url = "http://127.0.0.1:PORT"

[[sources]]
name = "app"
kind = "terreno"
url = "http://127.0.0.1:PORT"

[[accounts]]
name = "me"
source = "app"
email = "me@example.com"
password = "secret-of-the-account"
deliver = ["telegram:7"]
"#;

fn jsonl(values: impl Iterator<Item = Value>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join("\n")
}

/// Numbers by value: a whole number may be written with or without a fraction.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or_else(|| value.clone(), |number| json!(number)),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(keys) => keys.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        other => other.clone(),
    }
}

/// The path and code of each error; the words are ours.
fn codes(errors: &Value) -> Vec<(String, String)> {
    let text = |error: &Value, key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    errors.as_array().into_iter().flatten().map(|error| (text(error, "path"), text(error, "code"))).collect()
}

#[test]
fn preview_shows_the_card_of_every_ask() -> anyhow::Result<()> {
    let examples = examples()?;
    let input =
        jsonl(examples.iter().map(|ask| json!({"kind": ask.kind, "input": ask.input, "toolCallId": "call_fixture"})));
    let ran = askgate(&["preview", "--json"], &input)?;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = ran.lines()?;
    assert_eq!(lines.len(), examples.len());
    for (line, ask) in lines.iter().zip(&examples) {
        assert_eq!(plain(&line["card"]), plain(&ask.card), "the card of {} {}", ask.kind, ask.input);
        for channel in ["telegram", "discord"] {
            assert!(!line[channel].is_null(), "what {channel} shows of {}", ask.input);
        }
    }
    Ok(())
}

#[test]
fn a_line_that_is_no_ask_spoils_no_other() -> anyhow::Result<()> {
    let good = json!({"kind": "confirm", "input": {"prompt": "Go on?"}});
    let ran = askgate(&["preview", "--json"], &format!("nonsense\n{good}\n{{}}\n"))?;
    let lines = ran.lines()?;
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(lines[0].get("error").is_some() && lines[2].get("error").is_some());
    assert_eq!(lines[1]["card"]["text"], "Go on?");
    let ran = askgate(&["preview"], "nonsense")?;
    assert_eq!(ran.code, Some(1));
    assert!(!ran.err.is_empty());
    Ok(())
}

#[test]
fn validate_finds_what_the_contract_names() -> anyhow::Result<()> {
    let mut cases: Vec<(Value, Value)> = Vec::new();
    for name in ["input", "response", "bytes"] {
        for line in vectors(name)? {
            let errors = line.get("errors").cloned().context("a vector without errors")?;
            cases.push((line, errors));
        }
    }
    for (folder, key) in [("invalid", "errors"), ("valid", "none")] {
        for file in fixtures(folder)? {
            let errors = file.get(key).cloned().unwrap_or_else(|| json!([]));
            cases.push((json!({"kind": file["kind"], "input": file["input"]}), errors));
        }
    }
    if cases.is_empty() {
        let alike = json!({"kind": "confirm", "input": {"prompt": ""}});
        cases.push((alike, json!([{"path": "prompt", "code": "TOO_SHORT"}])));
    }
    // What the vector expects must not be there to be copied.
    let questions = cases.iter().map(|(question, _)| {
        let mut question = question.clone();
        if let Some(keys) = question.as_object_mut() {
            keys.remove("errors");
        }
        question
    });
    let ran = askgate(&["validate", "--json"], &jsonl(questions))?;
    let lines = ran.lines()?;
    assert_eq!(lines.len(), cases.len(), "{}", ran.err);
    for (line, (question, expected)) in lines.iter().zip(&cases) {
        assert_eq!(codes(&line["errors"]), codes(expected), "{question}");
        for error in line["errors"].as_array().into_iter().flatten() {
            let says = |key: &str| error.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
            assert!(says("message") && says("fix"), "{error} says what is wrong and what to do");
        }
    }
    Ok(())
}

#[test]
fn validate_looks_buttons_up() -> anyhow::Result<()> {
    let cases = vectors("button")?;
    let questions = cases.iter().map(|line| json!({"card": line["card"], "buttonId": line["buttonId"]}));
    let lines = askgate(&["validate", "--json"], &jsonl(questions))?.lines()?;
    assert_eq!(lines.len(), cases.len());
    for (line, case) in lines.iter().zip(&cases) {
        assert_eq!(plain(&line["response"]), plain(&case["response"]), "{case}");
        let code = |value: &Value| codes(&json!([value["error"]]));
        assert_eq!(code(line), code(case), "{case}");
    }
    Ok(())
}

#[test]
fn validate_tells_a_person_by_its_exit_code() -> anyhow::Result<()> {
    let valid = askgate(&["validate"], &json!({"kind": "confirm", "input": {"prompt": "Go on?"}}).to_string())?;
    assert_eq!((valid.code, valid.out.trim()), (Some(0), "valid"));
    let wrong = askgate(&["validate"], &json!({"kind": "confirm", "input": {"prompt": ""}}).to_string())?;
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.out.contains("TOO_SHORT prompt"), "{}", wrong.out);
    Ok(())
}

/// Ten ways to be wrong: what is changed, into what, and the line that is printed for it.
const BROKEN: [(&str, &str, &str); 10] = [
    ("[telegram]", "[telegrem]", "telegrem: is no key that askgate knows; did you mean `telegram`?"),
    (
        "api_url = \"http://127.0.0.1:PORT\"\n\n[discord]",
        "api_ulr = \"http://127.0.0.1:PORT\"\n\n[discord]",
        "telegram.api_ulr: is no key that askgate knows; did you mean `api_url`?",
    ),
    ("token = \"a-token\"", "", "discord.token: is missing; add"),
    (
        "kind = \"terreno\"",
        "kind = \"agentfootprint\"",
        "sources[0].kind: \"agentfootprint\" is not yet supported; write \"terreno\"",
    ),
    (
        "url = \"http://127.0.0.1:PORT\"\n\n[[accounts]]",
        "url = \"api.example.com\"\n\n[[accounts]]",
        "sources[0].url: is no address: relative URL without a base; write an absolute address, such as \"https://app.example.com\"",
    ),
    (
        "kind = \"terreno\"",
        "kind = \"terreno\"\npoll_active = \"soon\"",
        "sources[0].poll_active: `soon` is no duration: expected number at 0; write a duration with its unit, such as \"400ms\", \"3s\" or \"30d\"",
    ),
    ("source = \"app\"", "source = \"ap\"", "accounts[0].source: `ap` is none of the [[sources]]; did you mean `app`?"),
    (
        "password = \"secret-of-the-account\"",
        "",
        "accounts[0].password: is missing beside email; add password or password_file",
    ),
    (
        "deliver = [\"telegram:7\"]",
        "deliver = [\"telegram:-1001/7\"]",
        "accounts[0].deliver[0]: telegram:-1001/7 is a shared place, and deliver takes direct ones only; move it to [[groups]], with the approvers who may answer there",
    ),
    (
        "deliver = [\"telegram:7\"]",
        "deliver = [\"telegram:7\"]\n[[groups]]\nplace = \"telegram:-1\"\naccounts = [\"me\"]",
        "groups[0].approvers: is missing; add approvers = [\"telegram:ID\"]: no list, no start",
    ),
];

fn write(folder: &Path, text: &str) -> anyhow::Result<std::path::PathBuf> {
    let file = folder.join("askgate.toml");
    std::fs::write(&file, text)?;
    Ok(file)
}

#[test]
fn ten_broken_files_get_ten_reasons() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for (from, to, expected) in BROKEN {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from:?} is in the good file");
        let file = write(folder.path(), &text.replace("PORT", "9"))?;
        let check = with_file(&["check"], &file)?;
        assert_eq!(check.code, Some(2), "{text}");
        assert!(check.err.lines().any(|line| line.starts_with(expected)), "{expected}\nis not in\n{}", check.err);
        assert!(!check.err.contains("secret-of-the-account"), "{}", check.err);

        let serve = with_file(&["serve"], &file)?;
        assert_eq!((serve.code, &serve.err), (Some(2), &check.err), "serve prints what check prints");

        let lines = with_file(&["check", "--json"], &file)?;
        assert_eq!(lines.code, Some(2));
        let printed: Vec<String> = lines
            .lines()?
            .iter()
            .map(|line| {
                let part = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                format!("{}: {}; {}", part("key"), part("what"), part("fix"))
            })
            .collect();
        assert!(printed.iter().any(|line| line.starts_with(expected)), "{printed:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "a refused start makes no store");
    Ok(())
}

#[test]
fn all_reasons_come_at_once() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    // One for each line that is independent of the others.
    let picked = [BROKEN[1], BROKEN[2], BROKEN[5], BROKEN[6], BROKEN[7], BROKEN[9]];
    let text = picked.iter().fold(GOOD.to_owned(), |text, (from, to, _)| text.replacen(from, to, 1));
    let file = write(folder.path(), &text.replace("PORT", "9"))?;
    let ran = with_file(&["check"], &file)?;
    for (_, _, expected) in picked {
        assert!(ran.err.lines().any(|line| line.starts_with(expected)), "{expected}\nis not in\n{}", ran.err);
    }
    Ok(())
}

#[test]
fn check_is_offline() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let folder = tempfile::tempdir()?;
    let file = write(folder.path(), &GOOD.replace("PORT", &listener.local_addr()?.port().to_string()))?;
    let ran = with_file(&["check"], &file)?;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(listener.accept().is_err(), "check contacted somebody");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "check makes no store");
    Ok(())
}

#[test]
fn every_command_has_help_and_wrong_use_ends_with_two() -> anyhow::Result<()> {
    let help = askgate(&["--help"], "")?;
    assert_eq!(help.code, Some(0));
    let commands: Vec<&str> = help
        .out
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        // A name stands two columns in; what is further in continues a description.
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.split_whitespace().next())
        .collect();
    for name in ["demo", "serve", "check", "doctor", "preview", "validate", "accounts", "asks", "store", "healthcheck"]
    {
        assert!(commands.contains(&name), "{name} in {commands:?}");
    }
    for command in commands.iter().filter(|command| **command != "help") {
        let help = askgate(&[command, "--help"], "")?;
        assert_eq!(help.code, Some(0), "{command}");
        assert!(help.out.contains("Usage:"), "{}", help.out);
    }
    for action in ["verify", "export", "import"] {
        assert_eq!(askgate(&["store", action, "--help"], "")?.code, Some(0));
    }
    let version = askgate(&["--version"], "")?;
    assert!(version.code == Some(0) && version.out.starts_with("askgate "), "{version:?}");

    let wrong: [&[&str]; 5] =
        [&[], &["nonsense"], &["serve", "--nonsense"], &["store"], &["preview", "--language", "xx"]];
    for arguments in wrong {
        assert_eq!(askgate(arguments, "")?.code, Some(2), "{arguments:?}");
    }
    for command in ["serve", "check", "doctor", "healthcheck", "asks", "accounts"] {
        let ran = askgate(&[command, "-c", "no/such/askgate.toml"], "")?;
        assert_eq!(ran.code, Some(2), "{command}: {ran:?}");
        assert!(ran.err.contains("askgate.toml"), "{}", ran.err);
    }
    Ok(())
}

fn doctor(world: &World, text: &str) -> anyhow::Result<Ran> {
    std::fs::write(world.file(), text)?;
    with_file(&["doctor"], &world.file())
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reaches_everything_and_says_what_fails() -> anyhow::Result<()> {
    let world = World::start().await?;
    let good = world.configuration(&Setup::default());
    let fine = tokio::task::block_in_place(|| doctor(&world, &good))?;
    assert_eq!(fine.code, Some(0), "{fine:?}");
    let ok: Vec<&str> = fine.out.lines().filter(|line| line.starts_with("ok ")).collect();
    assert_eq!(ok.len(), 3, "telegram, discord and the account: {}", fine.out);

    let telegram =
        telegram::Settings { token: "1234:telegram-token-of-the-tests".into(), ..telegram::Settings::default() };
    let secrets = [telegram.token.as_str(), "discord.token-of-the-tests", PASSWORD, "1234:wrong", "wrong-password"];
    for (from, to, part) in [
        (secrets[0], "1234:wrong", "telegram"),
        (secrets[1], "wrong-discord-token", "discord"),
        (PASSWORD, "wrong-password", "me at app"),
    ] {
        let ran = tokio::task::block_in_place(|| doctor(&world, &good.replace(from, to)))?;
        assert_eq!(ran.code, Some(1), "{part}: {ran:?}");
        let failing: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("FAIL")).collect();
        assert_eq!(failing.len(), 1, "{}", ran.out);
        assert!(failing[0].contains(part) && failing[0].len() > "FAIL  ".len() + part.len() + 10, "{failing:?}");
        for secret in secrets {
            assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "{ran:?}");
        }
    }
    world.terreno.set_down(true);
    let ran = tokio::task::block_in_place(|| doctor(&world, &good))?;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("FAIL  me at app"), "{}", ran.out);
    Ok(())
}

/// A world with one answered and one waiting ask, and its running service.
async fn lived_in() -> anyhow::Result<(World, Gateway)> {
    let world = World::start().await?;
    let setup = Setup { server: format!("admin_token = \"{ADMIN}\""), ..Setup::default() };
    let gateway = world.gateway(&setup).await?;
    let spec = AskSpec::new("confirm", json!({"prompt": "Go on?", "confirmLabel": "Go", "denyLabel": "Stay"}));
    world.terreno.ask_then(EMAIL, spec, Script::new().say("Gone."))?;
    let screen = world.screen(Channel::Telegram);
    let card = screen.card("Go on?").await?;
    // Decided before it was shown there, it would not be shown there any more.
    world.screen(Channel::Discord).card("Go on?").await?;
    screen.answer(&card, "Go").await?;
    screen.settled(&card, &["Go"]).await?;
    screen.see("the reply", |card| card.text == "Gone.").await?;
    world.screen(Channel::Discord).see("the copy", |card| card.is_settled() && card.text.contains("Go on?")).await?;
    world.terreno.ask(EMAIL, "confirm", json!({"prompt": "And now?"}))?;
    for channel in Channel::ALL {
        world.screen(channel).card("And now?").await?;
    }
    Ok((world, gateway))
}

fn states(rows: &[Value]) -> Vec<&str> {
    let mut states: Vec<&str> = rows.iter().filter_map(|row| row["state"].as_str()).collect();
    states.sort_unstable();
    states
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_and_its_asks_can_be_looked_at() -> anyhow::Result<()> {
    let (world, mut gateway) = lived_in().await?;
    let run = |command: &[&str]| tokio::task::block_in_place(|| with_file(command, &world.file()));

    // While the service runs, it is asked; what needs the store itself says so.
    assert_eq!(run(&["healthcheck"])?.code, Some(0));
    assert_eq!(run(&["healthcheck", "--ready"])?.code, Some(0));
    assert_eq!(states(&run(&["asks", "--json"])?.lines()?), ["live"]);
    assert_eq!(states(&run(&["asks", "--json", "--all"])?.lines()?), ["live", "settled"]);
    let audit = run(&["asks", "--audit"])?;
    assert!(audit.code == Some(1) && audit.err.contains("stop it"), "{audit:?}");
    let verify = run(&["store", "verify"])?;
    assert!(verify.code == Some(1) && verify.err.contains("in use by another process"), "{verify:?}");
    let accounts = run(&["accounts", "--json"])?.lines()?;
    assert_eq!(accounts[0]["name"], "me");

    gateway.terminate().await?;
    assert!(gateway.wait_end(Duration::from_secs(5)).await?.success());
    let dead = run(&["healthcheck"])?;
    assert!(dead.code == Some(1) && !dead.err.is_empty(), "{dead:?}");
    assert_eq!(states(&run(&["asks", "--json"])?.lines()?), ["live"]);
    assert_eq!(states(&run(&["asks", "--json", "--all"])?.lines()?), ["live", "settled"]);
    let audit = run(&["asks", "--audit", "--json"])?;
    assert_eq!(audit.code, Some(0), "{audit:?}");
    assert!(
        audit.lines()?.iter().any(|line| line["event"].as_str().is_some_and(|event| event.contains("claim"))),
        "{}",
        audit.out
    );
    assert!(!audit.out.contains(PASSWORD));
    let verify = run(&["store", "verify"])?;
    assert_eq!(verify.code, Some(0), "{verify:?}");

    // Out, and back into a store elsewhere.
    let folder = tempfile::tempdir()?;
    let paths = ["first.jsonl", "second.jsonl"].map(|name| folder.path().join(name).display().to_string());
    let exported = run(&["store", "export", &paths[0]])?;
    assert_eq!(exported.code, Some(0), "{exported:?}");
    assert_eq!(run(&["store", "export", &paths[0]])?.code, Some(1), "an export overwrites nothing");
    let elsewhere = folder.path().join("askgate.toml");
    std::fs::copy(world.file(), &elsewhere)?;
    let there = |command: &[&str]| tokio::task::block_in_place(|| with_file(command, &elsewhere));
    assert_eq!(there(&["store", "verify"])?.code, Some(1), "there is no store yet");
    let imported = there(&["store", "import", &paths[0]])?;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    assert_eq!(there(&["store", "import", &paths[0]])?.code, Some(1), "an import needs an empty store");
    assert_eq!(there(&["store", "verify"])?.code, Some(0));
    assert_eq!(there(&["store", "export", &paths[1]])?.code, Some(0));
    let sorted = |path: &str| -> anyhow::Result<Vec<String>> {
        let mut lines: Vec<String> = std::fs::read_to_string(path)?.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        Ok(lines)
    };
    let [first, second] = [sorted(&paths[0])?, sorted(&paths[1])?];
    assert!(first.len() > 5, "{first:#?}");
    assert_eq!(first, second);

    // The service goes on from the imported store: the waiting card is live and is not shown again.
    let before = world.telegram.count_of("sendMessage");
    let gateway = Gateway::start(&elsewhere, world.port, &[])?;
    gateway.wait_ready(SOON).await?;
    let screen = world.screen(Channel::Telegram);
    let card = screen.card("And now?").await?;
    screen.answer(&card, &card.labels[0]).await?;
    screen.settled(&card, &[&card.labels[0]]).await?;
    assert_eq!(screen.count("And now?"), 1);
    assert!(world.telegram.count_of("sendMessage") <= before + 1, "at most the agent's reply is new");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_services_never_share_a_store() -> anyhow::Result<()> {
    let world = World::start().await?;
    let mut first = world.gateway(&Setup::default()).await?;
    let names = || -> anyhow::Result<Vec<String>> {
        let folder = world.store().parent().context("a folder")?.to_owned();
        let mut names = Vec::new();
        for folder in [folder, world.store()] {
            for entry in std::fs::read_dir(folder)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    };

    // Another service gives up after the 30 s it waits, says why, and touches nothing.
    let port = || -> anyhow::Result<u16> { Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port()) };
    let start = |name: &str, port: u16| -> anyhow::Result<Gateway> {
        let file = world.file().with_file_name(name);
        let listen = format!("127.0.0.1:{}", world.port);
        std::fs::write(&file, std::fs::read_to_string(world.file())?.replace(&listen, &format!("127.0.0.1:{port}")))?;
        Gateway::start(&file, port, &[])
    };
    let mut second = start("second.toml", port()?)?;
    let status = second.wait_end(Duration::from_secs(45)).await?;
    assert_eq!(status.code(), Some(1));
    assert!(second.log().contains("in use by another process"), "{}", second.log());
    assert!(!names()?.iter().any(|name| name.contains("corrupt")), "{:?}", names()?);

    // One that comes during a redeploy waits, and takes over when the first ends.
    let port = port()?;
    let third = start("third.toml", port)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    first.terminate().await?;
    assert!(first.wait_end(Duration::from_secs(5)).await?.success());
    third.wait_ready(SOON).await?;
    assert!(!names()?.iter().any(|name| name.contains("corrupt")), "{:?}", names()?);
    world.terreno.ask(EMAIL, "confirm", json!({"prompt": "Who asks?"}))?;
    world.screen(Channel::Telegram).card("Who asks?").await?;
    Ok(())
}
