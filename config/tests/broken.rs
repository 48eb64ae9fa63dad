//! Broken files, each with every line that it prints.

use std::io;

use config::{Refused, load};

#[path = "broken/rules.rs"]
mod rules;

/// Problems of a file, or its warnings where it loads, as lines.
fn printed(text: &str) -> io::Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("askgate.toml");
    std::fs::write(&path, text)?;
    let found = match load(&path, []) {
        Ok(loaded) => loaded.warnings,
        Err(Refused { problems }) => problems,
    };
    let folder = folder.path().display().to_string();
    Ok(found.iter().map(|problem| problem.to_string().replace(&folder, "FOLDER")).collect())
}

fn loads(text: &str) -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("askgate.toml");
    std::fs::write(&path, text)?;
    Ok(load(&path, []).is_ok())
}

const GOOD: &str = r#"
[telegram]
token = "123:abc"

[discord]
token = "abc"

[[sources]]
name = "app"
kind = "terreno"
url = "http://127.0.0.1:4000"

[[accounts]]
name = "me"
source = "app"
token = "t"
deliver = ["telegram:7"]
"#;

// Lines of the good file.
const TELEGRAM: &str = "token = \"123:abc\"";
const URL: &str = "url = \"http://127.0.0.1:4000\"";
const DELIVER: &str = "deliver = [\"telegram:7\"]";
const TOKEN: &str = "token = \"t\"";

/// The good file with one line after the first `after`.
fn with(after: &str, line: &str) -> String {
    GOOD.replacen(after, &format!("{after}\n{line}"), 1)
}

/// The good file with `from` replaced.
fn instead(from: &str, to: &str) -> String {
    GOOD.replacen(from, to, 1)
}

fn with_group(lines: &str) -> String {
    format!("{GOOD}\n[[groups]]\n{lines}")
}

/// Asserts that each file is refused, and with these lines.
fn prints(table: &[(String, &[&str])]) {
    for (text, expected) in table {
        let lines = printed(text).unwrap_or_default();
        assert_eq!(lines, *expected, "in the file:\n{text}");
        assert!(loads(text).is_ok_and(|loads| !loads), "it loads:\n{text}");
    }
}

#[test]
fn the_good_file_is_good() {
    assert_eq!(printed(GOOD).expect("written"), [""; 0]);
    assert!(loads(GOOD).expect("written"));
    assert!(loads("").expect("written"), "an empty file is legal, with warnings");
}

#[test]
fn wrong_keys_and_types() {
    let table: &[(String, &[&str])] = &[
        (
            with(TELEGRAM, "api_ulr = \"x\""),
            &["telegram.api_ulr: is no key that askgate knows; did you mean `api_url`?"],
        ),
        (
            with(TELEGRAM, "colour = \"x\""),
            &[
                "telegram.colour: is no key that askgate knows; known here: token, token_file, api_url, mode, webhook_secret, webhook_secret_file",
            ],
        ),
        (format!("{GOOD}\n[telegrem]\n"), &["telegrem: is no key that askgate knows; did you mean `telegram`?"]),
        (
            instead("[[sources]]", "[sources]"),
            &["sources: is a table, not a list of tables; write [[sources]], with two brackets on each side"],
        ),
        (instead("[discord]", "[[discord]]"), &["discord: is an array, not a table; write [discord]"]),
        (instead(TELEGRAM, "token = 123"), &["telegram.token: is an integer, not text; write the value in quotes"]),
        (instead(TELEGRAM, ""), &["telegram.token: is missing; add token or token_file, as BotFather gave it"]),
        (instead(TELEGRAM, "token = \"\""), &["telegram.token: is empty; give it a value, or remove the key"]),
        (
            instead(TELEGRAM, "token = \"1:a b\""),
            &["telegram.token: has white space or a slash in it; give the token alone, as BotFather gave it"],
        ),
        (
            with(TELEGRAM, "token_file = \"f\""),
            &["telegram.token: is given twice, also as token_file; remove one of the two"],
        ),
        (
            instead(TELEGRAM, "token_file = \"absent\""),
            &[
                "telegram.token_file: cannot be read from FOLDER/absent: No such file or directory (os error 2); name a text file that askgate may read",
            ],
        ),
    ];
    prints(table);
}

#[test]
fn wrong_values() {
    let table: &[(String, &[&str])] = &[
        (
            format!("{GOOD}\n[server]\nlisten = \"localhost:1\""),
            &[
                "server.listen: `localhost:1` is no address with a port; write numbers, such as \"127.0.0.1:8787\" or \"0.0.0.0:8787\"",
            ],
        ),
        (
            format!("{GOOD}\n[server]\npublic_url = \"https://a.example/?x\""),
            &["server.public_url: has a query or a fragment; end the address before `?` and `#`"],
        ),
        (
            format!("{GOOD}\n[server]\ntrusted_proxies = [\"10.0.0.1\", \"proxy\", 3]"),
            &[
                "server.trusted_proxies[1]: `proxy` is no IP address and no network; write numbers, such as \"10.0.0.7\" or \"10.0.0.0/8\"",
                "server.trusted_proxies[2]: is an integer, not text; write the value in quotes",
            ],
        ),
        (
            format!("{GOOD}\n[secrets]\nkey = \"AAEC\""),
            &["secrets.key: is the base64 of 3 bytes, not of 32; make one with `openssl rand -base64 32`"],
        ),
        (
            with(URL, "poll_active = \"0s\""),
            &["sources[0].poll_active: is zero; write a duration above zero, such as \"400ms\""],
        ),
        (
            with(URL, "poll_idle = \"soon\""),
            &[
                "sources[0].poll_idle: `soon` is no duration: expected number at 0; write a duration with its unit, such as \"400ms\", \"3s\" or \"30d\"",
            ],
        ),
        (
            with(URL, "turn_timeout = \"900 years\""),
            &[
                "sources[0].turn_timeout: `900 years` is longer than 50 years; write a duration with its unit, such as \"400ms\", \"3s\" or \"30d\"",
            ],
        ),
        (
            with(URL, "surface = \"compct\""),
            &["sources[0].surface: `compct` is not known here; did you mean \"compact\"?"],
        ),
        (
            with(URL, "auth = \"basic\""),
            &["sources[0].auth: `basic` is not known here; write \"auto\" or \"terreno\" or \"better-auth\""],
        ),
        (
            with(URL, "headers = { \"a b\" = \"x\", Host = \"x\" }"),
            &[
                "sources[0].headers.a b: is no header name; write letters, digits and -",
                "sources[0].headers.Host: is a header that askgate sets itself; remove it; a bearer token belongs to its account",
            ],
        ),
        (
            with(URL, "handoff_url = \"https://a.example/{toolCallID}\""),
            &["sources[0].handoff_url: has the unknown placeholder `{toolCallID}`; did you mean `{toolCallId}`?"],
        ),
        (
            instead(URL, "url = \"api.example.com\""),
            &[
                "sources[0].url: is no address: relative URL without a base; write an absolute address, such as \"https://app.example.com\"",
            ],
        ),
        (with(DELIVER, "language = \"fr\""), &["accounts[0].language: `fr` is not known here; write \"en\" or \"de\""]),
        (
            with("[discord]", "public_key = \"zz\"\napplication_id = \"abc\""),
            &[
                "discord.application_id: is no Discord id; copy the digits from the application's page, in quotes",
                "discord.public_key: is not the hex of 32 bytes; copy the 64 digits from the application's General Information page",
            ],
        ),
    ];
    prints(table);
}

#[test]
fn settings_of_later_versions_are_refused_by_name() {
    let table: &[(String, &[&str])] = &[
        (
            instead("kind = \"terreno\"", "kind = \"agentfootprint\""),
            &["sources[0].kind: \"agentfootprint\" is not yet supported; write \"terreno\""],
        ),
        (
            format!("{GOOD}\n[store]\nurl = \"postgres://u:p@db/askgate\""),
            &["store.url: is not yet supported; remove it"],
        ),
    ];
    prints(table);
}

#[test]
fn references_lead_somewhere() {
    let table: &[(String, &[&str])] = &[
        (
            instead("source = \"app\"", "source = \"ap\""),
            &["accounts[0].source: `ap` is none of the [[sources]]; did you mean `app`?"],
        ),
        (
            format!("{GOOD}\n[[sources]]\nname = \"app\"\nkind = \"terreno\""),
            &[
                "sources[1].url: is missing; add url = \"https://api.example.com\"",
                "sources[1].name: `app` is the name of sources[0] already; give each its own name",
            ],
        ),
        (
            format!("{GOOD}\n[[accounts]]\nname = \"me\"\nsource = \"app\"\ntoken = \"u\"\ndeliver = []"),
            &["accounts[1].name: `me` is the name of accounts[0] already; give each its own name"],
        ),
    ];
    prints(table);
}

#[test]
fn an_account_has_one_kind_of_credential() {
    let table: &[(String, &[&str])] = &[
        (
            instead(TOKEN, ""),
            &[
                "accounts[0].email: is missing, and so is every other credential; add email and password(_file), or token(_file)",
            ],
        ),
        (
            with(TOKEN, "email = \"a@example.com\""),
            &[
                "accounts[0].token: is one credential, email and password another: only one can count; keep either email and password, or token and refresh_token",
            ],
        ),
        (
            instead(TOKEN, "email = \"a@example.com\""),
            &["accounts[0].password: is missing beside email; add password or password_file"],
        ),
        (instead(TOKEN, "password = \"p\""), &["accounts[0].email: is missing beside password; add email"]),
        (
            instead(TOKEN, "refresh_token = \"r\""),
            &["accounts[0].token: is missing beside refresh_token; add token or token_file"],
        ),
    ];
    prints(table);
}

#[test]
fn places_are_of_the_right_kind() {
    let table: &[(String, &[&str])] = &[
        (
            instead(DELIVER, "deliver = [\"telegram:-1001/7\", \"discord:channel:5\", \"mail:x\"]"),
            &[
                "accounts[0].deliver[0]: telegram:-1001/7 is a shared place, and deliver takes direct ones only; move it to [[groups]], with the approvers who may answer there",
                "accounts[0].deliver[1]: discord:channel:5 is a shared place, and deliver takes direct ones only; move it to [[groups]], with the approvers who may answer there",
                "accounts[0].deliver[2]: `mail:x` is no place; write telegram:ID, telegram:CHAT/TOPIC, discord:user:ID, discord:channel:ID or ntfy:TOPIC",
            ],
        ),
        (
            instead("[discord]\ntoken = \"abc\"", "").replace("\"telegram:7\"", "\"discord:user:7\""),
            &["accounts[0].deliver[0]: is on discord, which is not configured; add [discord] with its token"],
        ),
        (
            with_group("place = \"telegram:-1\"\naccounts = [\"me\"]"),
            &["groups[0].approvers: is missing; add approvers = [\"telegram:ID\"]: no list, no start"],
        ),
        (
            with_group("place = \"telegram:7\"\naccounts = [\"you\"]\napprovers = []\nprivacy = \"none\""),
            &[
                "groups[0].place: telegram:7 is a person's own place, not a shared one; put it into the account's deliver; a group's id starts with -, a channel's with discord:channel:",
                "groups[0].accounts[0]: `you` is none of the [[accounts]]; add one, or name one of the [[accounts]]",
                "groups[0].approvers: is empty; name at least one person who may answer: no list, no start",
                "groups[0].privacy: `none` is not known here; write \"summary\" or \"full\"",
            ],
        ),
        (
            with_group("place = \"telegram:-1\"\naccounts = [\"me\"]\napprovers = [\"discord:7\"]"),
            &[
                "groups[0].approvers: name nobody on telegram, so nobody could answer in telegram:-1; add \"telegram:ID\" of a person",
            ],
        ),
        (
            with_group(
                "place = \"telegram:-1\"\naccounts = [\"me\"]\napprovers = [\"telegram:7\"]\n[[groups]]\nplace = \"telegram:-01\"\naccounts = [\"me\"]\napprovers = [\"telegram:8\"]",
            ),
            &[
                "groups[1].place: is telegram:-1, where groups[0] shows account `me` already; put the approvers of both into one",
            ],
        ),
    ];
    prints(table);
}

#[test]
fn warnings_do_not_stop_a_start() {
    let table: &[(String, &str)] = &[
        (
            instead(URL, "url = \"http://terreno:4000\""),
            "sources[0].url: is not encrypted; use https, unless the network between is your own",
        ),
        (
            with(URL, "handoff_url = \"http://localhost:3000/\""),
            "sources[0].handoff_url: has a host that Telegram takes for no button, so cards there show the link as text; use a host with a dot that is not this machine",
        ),
        (
            with(URL, "poll_active = \"2m\""),
            "sources[0].poll_idle: is shorter than poll_active; idle sources are meant to be asked less often",
        ),
        (
            instead(TELEGRAM, "token = \"odd\""),
            "telegram.token: does not look like a bot's token; copy it whole, digits and colon included",
        ),
        (
            instead("deliver = [\"telegram:7\"]", ""),
            "accounts[0].deliver: is missing, so nobody sees these asks; add deliver = [\"telegram:ID\"], or deliver = [] to say so",
        ),
        (
            instead("[\"telegram:7\"]", "[\"telegram:7\", \"telegram:007\"]"),
            "accounts[0].deliver: names telegram:7 twice; one card is shown there; remove one of the two",
        ),
        (
            with(DELIVER, "quiet_hours = \"07:00-07:00 UTC\""),
            "accounts[0].quiet_hours: ends when it begins, so it is never quiet; give it another end, or remove it",
        ),
        (
            with(DELIVER, "quiet_hours = [\"07:00-19:00 UTC\", \"19:00-07:00 UTC\"]"),
            "accounts[0].quiet_hours: leaves no minute of the day, so nothing ever rings; leave some out, unless that is meant",
        ),
        (
            with(DELIVER, "remind_most = 2"),
            "accounts[0].remind_most: counts only beside remind_after; add remind_after = \"2h\", or remove it",
        ),
        (
            with_group(
                "place = \"telegram:-1\"\naccounts = [\"me\"]\napprovers = [\"telegram:7\", \"discord:8\"]\nvotes = 2",
            ),
            "groups[0].votes: is 2, and 1 of the approvers are on telegram, where telegram:-1 is; name more of them there, or show the same asks to the others in another of the [[groups]]",
        ),
        (
            format!("{GOOD}\n[[accounts]]\nname = \"twin\"\nsource = \"app\"\ntoken = \"t\"\ndeliver = []"),
            "accounts[1]: seems to be the same person as account `me`, at the same address; keep one of the two, with the places of both in its deliver",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(printed(text).expect("written"), [*expected], "in the file:\n{text}");
        assert!(loads(text).expect("written"), "it does not load:\n{text}");
    }
}

#[test]
fn mixed_approvers_and_empty_deliver_are_legal() {
    let text = with_group(
        "place = \"telegram:-1001234567890/77\"\naccounts = [\"me\"]\napprovers = [\"telegram:7\", \"discord:9\"]",
    );
    assert_eq!(printed(&text).expect("written"), [""; 0]);
    assert_eq!(printed(&instead("[\"telegram:7\"]", "[]")).expect("written"), [""; 0]);
}

#[test]
fn everything_is_reported_at_once_and_in_order() {
    let text = r#"
        [server]
        listen = 3
        lisen = "x"
        [store]
        retention = "never"
        [secrets]
        key = "x"
        [[sources]]
        kind = "other"
        url = "ftp://a.example"
        [telegram]
        api_url = "http://"
        [[accounts]]
        name = "me"
        source = "nowhere"
        deliver = "telegram:7"
        [[groups]]
        [log]
        format = "xml"
    "#;
    let lines = printed(text).expect("written");
    let keys: Vec<_> = lines.iter().filter_map(|line| line.split_once(": ")).map(|(key, _)| key).collect();
    assert_eq!(
        keys,
        [
            "server.listen",
            "server.lisen",
            "store.retention",
            "secrets.key",
            "sources[0].name",
            "sources[0].kind",
            "sources[0].url",
            "telegram.api_url",
            "telegram.token",
            "accounts[0].source",
            "accounts[0].email",
            "accounts[0].deliver",
            "groups[0].place",
            "groups[0].accounts",
            "groups[0].approvers",
            "log.format",
        ],
        "{lines:#?}"
    );
    assert!(lines.iter().all(|line| line.contains("; ")), "each says what to do: {lines:#?}");
}

#[test]
fn a_missing_file_says_what_to_do() {
    let refused = load("no/such/askgate.toml".as_ref(), []).expect_err("missing");
    assert_eq!(
        refused.to_string(),
        "no/such/askgate.toml: cannot be read: No such file or directory (os error 2); name a readable file with -c, or copy askgate.example.toml there"
    );
}
