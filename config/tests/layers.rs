//! File, environment and secret files on top of each other.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use asks::ask::Surface;
use config::{Credential, DiscordMode, Loaded, LockScreen, Refused, Secret, SignIn, TelegramMode, load, reread};

const FILE: &str = r#"
[server]
admin_token = "from-the-file"

[telegram]
token_file = "secrets/bot"

[[sources]]
name = "app"
kind = "terreno"
url = "https://api.example.com"
headers = { X-AI-Api-Key = "file-header", x-other = "kept-header" }

[[accounts]]
name = "me"
source = "app"
email = "me@example.com"
password = "file-password"
deliver = ["telegram:7"]
"#;

/// A folder with the file above and `secrets/bot`.
fn folder(bot: &str) -> io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("askgate.toml"), FILE)?;
    fs::create_dir(folder.path().join("secrets"))?;
    fs::write(folder.path().join("secrets/bot"), bot)?;
    Ok(folder)
}

fn loaded(folder: &Path, env: &[(&str, &str)]) -> Result<Loaded, Refused> {
    load(&folder.join("askgate.toml"), env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

fn token(loaded: &Loaded) -> Option<&str> {
    loaded.config.telegram.as_ref().map(|telegram| telegram.token.expose())
}

#[test]
fn a_secret_file_loses_one_line_end_and_is_found_beside_the_configuration() {
    for (content, secret) in [("1:abc", "1:abc"), ("1:abc\n", "1:abc"), ("1:abc\r\n", "1:abc")] {
        let folder = folder(content).expect("a folder");
        let loaded = loaded(folder.path(), &[]).expect("good");
        assert_eq!(token(&loaded), Some(secret), "{content:?}");
        assert_eq!(loaded.config.store.path, folder.path().join("askgate-data"));
    }
    for (content, key) in
        [("", "telegram.token_file"), ("\n", "telegram.token_file"), ("1:abc\n\n", "telegram.token_file")]
    {
        let folder = folder(content).expect("a folder");
        let refused = loaded(folder.path(), &[]).expect_err("empty, or two line ends");
        assert_eq!(
            refused.problems.iter().map(|problem| problem.key.as_str()).collect::<Vec<_>>(),
            [key],
            "{content:?}"
        );
    }
}

#[test]
fn the_environment_wins_and_is_typed_by_its_key() {
    let folder = folder("1:abc").expect("a folder");
    let env = [
        ("ASKGATE_SERVER__PUBLIC_URL", "https://ask.example.com/gate"),
        ("ASKGATE_SERVER__TRUSTED_PROXIES", "['10.0.0.1', '10.1.0.0/16']"),
        ("ASKGATE_SERVER__ADMIN_TOKEN_FILE", "secrets/bot"),
        ("ASKGATE_SOURCES__0__URL", "http://127.0.0.1:4000"),
        ("ASKGATE_SOURCES__0__HEADERS__X_AI_API_KEY", "env-header"),
        ("ASKGATE_SOURCES__0__POLL_ACTIVE", "400ms"),
        ("ASKGATE_SOURCES__1__NAME", "second"),
        ("ASKGATE_SOURCES__1__KIND", "terreno"),
        ("ASKGATE_SOURCES__1__URL", "https://b.example.com"),
        ("ASKGATE_SOURCES__1__HEADERS", "{ a = 'b' }"),
        ("ASKGATE_SOURCES__1__AUTH", "better-auth"),
        ("ASKGATE_SOURCES__1__SURFACE", "full"),
        ("ASKGATE_TELEGRAM__TOKEN", "2:env"),
        ("ASKGATE_DISCORD__TOKEN", "env-discord"),
        ("ASKGATE_DISCORD__APPLICATION_ID", "42"),
        ("ASKGATE_ACCOUNTS__0__PASSWORD", "env-password"),
        ("ASKGATE_ACCOUNTS__0__DELIVER", "[\"telegram:7\", \"discord:user:9\"]"),
        ("ASKGATE_STORE__PATH", "elsewhere"),
        ("ASKGATE_GROUPS", "[{ place = 'discord:channel:5', accounts = ['me'], approvers = ['discord:9'] }]"),
        ("HOME", "/root"),
    ];
    let loaded = loaded(folder.path(), &env).expect("good");
    let config = &loaded.config;
    assert_eq!(loaded.warnings, []);
    assert_eq!(config.server.public_url.as_ref().map(url::Url::path), Some("/gate"));
    assert_eq!(config.server.trusted_proxies.len(), 2);
    assert!(config.server.trusted_proxies[1].contains("10.1.2.3".parse().expect("an address")));
    assert_eq!(config.server.admin_token.as_ref().map(Secret::expose), Some("1:abc"));
    assert_eq!(config.sources[0].url.as_str(), "http://127.0.0.1:4000/");
    assert_eq!(config.sources[0].poll_active, Duration::from_millis(400));
    let headers: Vec<_> =
        config.sources[0].headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("x-ai-api-key", "env-header"), ("x-other", "kept-header")]);
    assert_eq!(config.sources[1].headers["a"].expose(), "b");
    assert_eq!((config.sources[1].auth, config.sources[1].surface), (SignIn::BetterAuth, Surface::Full));
    assert_eq!(token(&loaded), Some("2:env"));
    assert_eq!(config.discord.as_ref().and_then(|discord| discord.application_id), Some(42));
    assert!(
        matches!(&config.accounts[0].credential, Credential::Password { password, .. } if password.expose() == "env-password")
    );
    assert_eq!(config.accounts[0].deliver.len(), 2);
    assert_eq!(config.store.path, folder.path().join("elsewhere"));
    assert_eq!(config.groups.len(), 1);
}

#[test]
fn the_later_settings_come_from_the_environment_too() {
    let folder = folder("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n").expect("a folder");
    let env = [
        ("ASKGATE_SERVER__ADMIN_LISTEN", "127.0.0.1:9090"),
        ("ASKGATE_SERVER__PUBLIC_URL", "https://ask.example.com/gate"),
        ("ASKGATE_SECRETS__KEY", "HR4fAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxw="),
        ("ASKGATE_SECRETS__PREVIOUS_KEY_FILE", "secrets/bot"),
        ("ASKGATE_TELEGRAM__TOKEN", "1:abc"),
        ("ASKGATE_TELEGRAM__MODE", "webhook"),
        ("ASKGATE_TELEGRAM__WEBHOOK_SECRET", "hook"),
        ("ASKGATE_DISCORD__TOKEN", "abc"),
        ("ASKGATE_DISCORD__MODE", "interactions"),
        ("ASKGATE_DISCORD__PUBLIC_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
        ("ASKGATE_NTFY__URL", "http://127.0.0.1:80"),
        ("ASKGATE_WEB__ENABLED", "false"),
        ("ASKGATE_SOURCES__0__LINK", "false"),
        ("ASKGATE_SOURCES__0__LABEL", "My app"),
        ("ASKGATE_ACCOUNTS__0__DELIVER", "['ntfy:topic']"),
        ("ASKGATE_ACCOUNTS__0__QUIET_HOURS", "['22:00-07:00', '12:00-13:00 Europe/Berlin']"),
        ("ASKGATE_ACCOUNTS__0__DIGEST", "08:00"),
        ("ASKGATE_ACCOUNTS__0__REMIND_AFTER", "2h"),
        ("ASKGATE_ACCOUNTS__0__REMIND_MOST", "5"),
        ("ASKGATE_ACCOUNTS__0__LOCK_SCREEN", "title"),
        (
            "ASKGATE_GROUPS",
            "[{ place = 'telegram:-5', accounts = ['me'], approvers = ['telegram:9', 'telegram:8'], destructive_votes = 2 }]",
        ),
    ];
    let loaded = loaded(folder.path(), &env).expect("good");
    let config = &loaded.config;
    assert_eq!(loaded.warnings, []);
    assert_eq!(config.server.admin_listen, Some("127.0.0.1:9090".parse().expect("a socket")));
    let keys = [&config.secrets.key, &config.secrets.previous_key];
    assert_eq!(keys.map(|key| key.as_ref().map(|key| key.expose()[3])), [Some(0), Some(3)]);
    assert_eq!(config.telegram.as_ref().map(|telegram| telegram.mode), Some(TelegramMode::Webhook));
    assert_eq!(config.discord.as_ref().map(|discord| discord.mode), Some(DiscordMode::Interactions));
    assert_eq!(config.ntfy.as_ref().map(|ntfy| ntfy.url.as_str()), Some("http://127.0.0.1/"));
    assert!(!config.web.enabled);
    assert_eq!(config.web.contact.as_deref(), Some("https://ask.example.com/gate"));
    assert_eq!((config.sources[0].link, config.sources[0].label.as_str()), (false, "My app"));
    let me = &config.accounts[0];
    let quiet = me.quiet_hours.as_ref().map(ToString::to_string);
    assert_eq!(quiet.as_deref(), Some("22:00-07:00, 12:00-13:00 Europe/Berlin"));
    assert_eq!(me.digest.as_ref().map(ToString::to_string).as_deref(), Some("08:00 Europe/Berlin"));
    assert_eq!((me.remind_after, me.remind_most), (Some(Duration::from_hours(2)), 5));
    assert_eq!((me.lock_screen, me.confirm_destructive), (LockScreen::Title, false));
    let group = &config.groups[0];
    assert_eq!((group.votes, group.destructive_votes), (1, 2));
    assert!(group.requester_may_answer && group.confirm_destructive);
}

#[test]
fn what_the_environment_gets_wrong_names_key_and_variable() {
    let folder = folder("1:abc").expect("a folder");
    let env = [
        ("ASKGATE_TELEGRAM__TOKN", "1:a"),
        ("ASKGATE_TELEGRAM__TOKEN", "1:a"),
        ("ASKGATE_TELEGRAM__TOKEN_FILE", "secrets/bot"),
        ("ASKGATE_ACCOUNTS__0__DELIVER", "telegram:7"),
        ("ASKGATE_ACCOUNTS__0__LANGUAGE", "fr"),
        ("ASKGATE_SOURCES__7__URL", "https://b.example.com"),
        ("ASKGATE_NOWHERE__KEY", "x"),
    ];
    let refused = loaded(folder.path(), &env).expect_err("wrong");
    let lines: Vec<_> = refused.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "sources[7].url: is number 7 in a list of 1; correct or unset ASKGATE_SOURCES__7__URL; lists count from 0, as in ASKGATE_SOURCES__0__URL",
            "telegram.token: is given twice, also as token_file (set by ASKGATE_TELEGRAM__TOKEN); remove one of the two",
            "telegram.tokn: is no key that askgate knows (set by ASKGATE_TELEGRAM__TOKN); did you mean `token`?",
            "accounts[0].deliver: is text, not a list (set by ASKGATE_ACCOUNTS__0__DELIVER); write a list, such as [\"...\"]",
            "accounts[0].language: `fr` is not known here (set by ASKGATE_ACCOUNTS__0__LANGUAGE); write \"en\" or \"de\"",
            "nowhere: is no key that askgate knows (set by ASKGATE_NOWHERE__KEY); known here: server, store, secrets, sources, telegram, discord, ntfy, web, accounts, groups, log",
        ]
    );
}

#[test]
fn no_secret_shows_in_debug_output_or_in_a_refusal() {
    let folder = folder("1:bot-secret\n").expect("a folder");
    let key = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=";
    let env = [
        ("ASKGATE_SECRETS__KEY", key),
        ("ASKGATE_SECRETS__PREVIOUS_KEY", "cHJldmlvdXMtcHJldmlvdXMtcHJldmlvdXMtcHJldmk="),
        ("ASKGATE_TELEGRAM__WEBHOOK_SECRET", "hook-secret"),
        ("ASKGATE_NTFY__TOKEN", "ntfy-secret"),
        ("ASKGATE_SERVER__PUBLIC_URL", "https://ask.example.com"),
        ("ASKGATE_DISCORD__TOKEN", "discord-secret"),
        ("ASKGATE_SERVER__ADMIN_TOKEN", "admin-secret"),
        ("ASKGATE_SOURCES__0__HEADERS__X_KEY", "header-secret"),
        ("ASKGATE_ACCOUNTS__0__PASSWORD", "password-secret"),
        ("ASKGATE_ACCOUNTS__1__NAME", "two"),
        ("ASKGATE_ACCOUNTS__1__SOURCE", "app"),
        ("ASKGATE_ACCOUNTS__1__TOKEN", "token-secret"),
        ("ASKGATE_ACCOUNTS__1__REFRESH_TOKEN", "refresh-secret"),
        ("ASKGATE_ACCOUNTS__1__DELIVER", "['ntfy:topic-secret']"),
    ];
    let good = loaded(folder.path(), &env).expect("good");
    let shown = format!("{good:?} {good:#?}");
    assert!(!shown.contains("-secret") && !shown.contains(key) && !shown.contains("115, 101, 99"), "{shown}");
    assert!(!shown.contains("112, 114, 101") && !shown.contains("cHJldmlv"), "{shown}");
    assert!(shown.contains("api.example.com"), "it does show the rest");

    // Secrets in the wrong place, of the wrong shape or beside a mistake.
    let wrong = [
        ("ASKGATE_SECRETS__KEY", "x-secret"),
        ("ASKGATE_TELEGRAM__TOKEN", "1: x-secret"),
        ("ASKGATE_TELEGRAM__API_URL", "https://u:x-secret@api.telegram.org"),
        ("ASKGATE_DISCORD__TOKEN", "Bot x-secret"),
        ("ASKGATE_SOURCES__0__URL", "https://api.example.com/?key=x-secret"),
        ("ASKGATE_SOURCES__0__HEADERS", "{ a = 'ü x-secret', host = 'x-secret' }"),
        ("ASKGATE_SOURCES__0__PASSWORD", "x-secret"),
        ("ASKGATE_STORE__URL", "postgres://u:x-secret@db"),
    ];
    let refused = loaded(folder.path(), &wrong).expect_err("wrong");
    assert!(refused.problems.len() >= wrong.len(), "{refused}");
    assert!(!format!("{refused} {refused:?}").contains("x-secret"), "{refused}");
}

#[test]
fn a_secret_from_a_file_can_be_read_again() {
    let folder = folder("1:old\n").expect("a folder");
    let loaded = loaded(folder.path(), &[]).expect("good");
    let secret = loaded.config.telegram.expect("configured").token;
    let bot = folder.path().join("secrets/bot");
    fs::write(&bot, "1:new\n").expect("written");
    let again = reread(&secret).expect("readable").expect("from a file");
    assert_eq!((again.expose(), again.file()), ("1:new", Some(bot.as_path())));
    fs::write(&bot, "\n").expect("written");
    assert!(reread(&secret).is_err(), "an empty file is no secret");
    assert!(reread(&Secret::new("inline")).expect("nothing to read").is_none());
}
