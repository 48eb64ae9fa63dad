//! Rules that span keys: addresses and secrets for what is called from outside, times and their zone, votes and approvers.

use super::{DELIVER, GOOD, TELEGRAM, instead, printed, prints, with, with_group};

/// The good file with an address for the outside.
fn public(text: &str) -> String {
    format!("{text}\n[server]\npublic_url = \"https://ask.example.com\"")
}

#[test]
fn what_is_called_from_outside_needs_an_address_and_a_secret() {
    let table: &[(String, &[&str])] = &[
        (
            with(TELEGRAM, "mode = \"webhook\""),
            &[
                "telegram.mode: is \"webhook\", and there is no address for Telegram to call; add public_url to [server], or write \"polling\"",
                "telegram.webhook_secret: is missing, so anybody could send taps; add webhook_secret or webhook_secret_file; make one with `openssl rand -hex 32`",
            ],
        ),
        (
            public(&with(TELEGRAM, "mode = \"webhook\"\nwebhook_secret = \"a.b\"")),
            &[
                "telegram.webhook_secret: is no secret that Telegram takes; write 1 to 256 letters, digits, - and _; make one with `openssl rand -hex 32`",
            ],
        ),
        (
            with(TELEGRAM, &format!("webhook_secret = \"{}\"", "a".repeat(257))),
            &[
                "telegram.webhook_secret: is no secret that Telegram takes; write 1 to 256 letters, digits, - and _; make one with `openssl rand -hex 32`",
            ],
        ),
        (
            with(TELEGRAM, "mode = \"webhok\""),
            &["telegram.mode: `webhok` is not known here; did you mean \"webhook\"?"],
        ),
        (
            with("[discord]", "mode = \"interactions\""),
            &[
                "discord.mode: is \"interactions\", and there is no address for Discord to call; add public_url to [server], or write \"gateway\"",
                "discord.public_key: is missing, so nobody's taps could be believed; add the 64 digits from the application's General Information page",
            ],
        ),
        (
            instead(DELIVER, "deliver = [\"ntfy:my-secret-topic\"]"),
            &["accounts[0].deliver[0]: is on ntfy, which is not configured; add [ntfy]; it may be empty"],
        ),
        (
            format!("{}\n[ntfy]\nurl = \"ntfy.sh\"\ntoken = \"a b\"", instead(DELIVER, "deliver = [\"ntfy:abc\"]")),
            &[
                "ntfy.url: is no address: relative URL without a base; write an absolute address, such as \"https://app.example.com\"",
                "ntfy.token: has white space or a character that no header can carry; give the bare token on one line, without `Bearer` or `Bot` before it",
                "accounts[0].deliver[0]: ntfy:#1a47e90b is a phone, and there is no address for its buttons to call; add public_url to [server]",
            ],
        ),
        (
            with_group("place = \"ntfy:abc\"\naccounts = [\"me\"]\napprovers = [\"telegram:7\"]"),
            &[
                "groups[0].place: ntfy:#1a47e90b is a topic, which belongs to one person and not to a group; put it into that account's deliver",
            ],
        ),
        (
            format!("{GOOD}\n[web]\nenabled = \"no\"\ncontact = \"you@example.com\""),
            &[
                "web.enabled: is text, not true or false; write true or false",
                "web.contact: `you@example.com` is neither a mailto: nor an https: address; write one, such as \"mailto:you@example.com\"",
            ],
        ),
    ];
    prints(table);
    let key = "public_key = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"";
    for good in [
        public(&with(TELEGRAM, "mode = \"webhook\"\nwebhook_secret = \"A-z_9\"")),
        with(TELEGRAM, "mode = \"polling\"\nwebhook_secret = \"A-z_9\""),
        public(&with("[discord]", &format!("mode = \"interactions\"\n{key}"))),
        format!("{}\n[ntfy]", public(&instead(DELIVER, "deliver = [\"ntfy:abc\", \"telegram:7\"]"))),
        format!("{GOOD}\n[web]\nenabled = false\ncontact = \"mailto:you@example.com\""),
    ] {
        assert_eq!(printed(&good).expect("written"), [""; 0], "in the file:\n{good}");
    }
}

#[test]
fn two_of_a_kind_differ() {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let table: &[(String, &[&str])] = &[
        (
            format!("{GOOD}\n[server]\nadmin_listen = \"127.0.0.1:8787\""),
            &[
                "server.admin_listen: takes the port of listen; give it another port, or remove it to serve /v1 and /metrics at listen",
            ],
        ),
        (
            format!("{GOOD}\n[server]\nlisten = \"0.0.0.0:80\"\nadmin_listen = \"127.0.0.1:80\""),
            &[
                "server.admin_listen: takes the port of listen; give it another port, or remove it to serve /v1 and /metrics at listen",
            ],
        ),
        (
            format!("{GOOD}\n[secrets]\nprevious_key = \"{key}\""),
            &[
                "secrets.previous_key: is given without key, which replaces it; add key or key_file, or rename previous_key to key",
            ],
        ),
        (
            format!("{GOOD}\n[secrets]\nkey = \"{key}\"\nprevious_key = \"{}\"", key.trim_end_matches('=')),
            &[
                "secrets.previous_key: is the same as key, so nothing would change; make a new key with `openssl rand -base64 32`, or remove previous_key",
            ],
        ),
        (
            format!("{GOOD}\n[secrets]\nkey = \"{key}\"\nprevious_key = \"AAEC\""),
            &["secrets.previous_key: is the base64 of 3 bytes, not of 32; make one with `openssl rand -base64 32`"],
        ),
    ];
    prints(table);
    let free = format!("{GOOD}\n[server]\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"");
    assert_eq!(printed(&free).expect("written"), [""; 0], "port 0 is a free one each time");
}

#[test]
fn c66_times_need_hours_and_a_known_zone() {
    let table: &[(&str, &[&str])] = &[
        (
            "quiet_hours = \"22:00-07:00 Europe/Berlim\"",
            &["accounts[0].quiet_hours: `Europe/Berlim` is no time zone; did you mean `Europe/Berlin`?"],
        ),
        (
            "quiet_hours = \"22:00-07:00\"",
            &["accounts[0].quiet_hours: has no time zone; write \"22:00-07:00 Europe/Berlin\""],
        ),
        (
            "quiet_hours = \"22:00-25:00 UTC\"",
            &[
                "accounts[0].quiet_hours: `25:00` is no time of the day; write hours and minutes from 00:00 to 23:59; midnight is 00:00",
            ],
        ),
        (
            "quiet_hours = \"night UTC\"",
            &[
                "accounts[0].quiet_hours: `night` is no time zone; write an IANA name, such as \"Europe/Berlin\" or \"America/New_York\"",
            ],
        ),
        ("quiet_hours = []", &["accounts[0].quiet_hours: has no hours; write \"22:00-07:00 Europe/Berlin\""]),
        (
            "quiet_hours = [\"22:00-07:00 UTC\", \"12:00-13:00 Asia/Tokyo\"]",
            &[
                "accounts[0].quiet_hours: is in two time zones, UTC and Asia/Tokyo; write all of them in the zone where the person lives",
            ],
        ),
        ("quiet_hours = 22", &["accounts[0].quiet_hours: is an integer, not text; write the value in quotes"]),
        (
            "digest = \"08:00\"",
            &["accounts[0].digest: has no time zone; add zone = \"Europe/Berlin\", or quiet_hours with one"],
        ),
        (
            "digest = \"8\"\nzone = \"UTC\"",
            &[
                "accounts[0].digest: `8` is no time of the day; write hours and minutes from 00:00 to 23:59; midnight is 00:00",
            ],
        ),
        (
            "digest = \"08:00\"\nquiet_hours = \"22:00-07:00\"\nzone = \"Berlin\"",
            &[
                "accounts[0].zone: `Berlin` is no time zone; write an IANA name, such as \"Europe/Berlin\" or \"America/New_York\"",
            ],
        ),
        (
            "remind_after = \"0s\"\nremind_most = 11\nlock_screen = \"titles\"\nconfirm_destructive = \"yes\"",
            &[
                "accounts[0].lock_screen: `titles` is not known here; did you mean \"title\"?",
                "accounts[0].confirm_destructive: is text, not true or false; write true or false",
                "accounts[0].remind_after: is zero; write a duration above zero, such as \"400ms\"",
                "accounts[0].remind_most: is no whole number from 1 to 10; write one, such as 1",
            ],
        ),
    ];
    let table: Vec<_> = table.iter().map(|(lines, expected)| (with(DELIVER, lines), *expected)).collect();
    prints(&table);
    for good in [
        "quiet_hours = \"22:00-07:00 Europe/Berlin\"\ndigest = \"08:00\"",
        "quiet_hours = [\"22:00-07:00\", \"12:00-13:00\"]\nzone = \"Europe/Berlin\"",
        "digest = \"08:00\"\nzone = \"Europe/Berlin\"",
        "remind_after = \"2h\"\nremind_most = 10\nlock_screen = \"hidden\"\nconfirm_destructive = true",
    ] {
        assert_eq!(printed(&with(DELIVER, good)).expect("written"), [""; 0], "{good}");
    }
}

#[test]
fn votes_can_be_reached() {
    let group = |lines: &str| {
        with_group(&format!(
            "place = \"telegram:-1\"\naccounts = [\"me\"]\napprovers = [\"telegram:7\", \"telegram:8\", \"telegram:007\"]\n{lines}"
        ))
    };
    let table: &[(String, &[&str])] = &[
        (
            group("votes = 3"),
            &[
                "groups[0].votes: is 3, and there are 2 approvers, so nothing could be decided; name more approvers, or lower it",
            ],
        ),
        (
            group("votes = 0\ndestructive_votes = 3"),
            &[
                "groups[0].votes: is no whole number from 1 to 1000; write one, such as 1",
                "groups[0].destructive_votes: is 3, and there are 2 approvers, so nothing could be decided; name more approvers, or lower it",
            ],
        ),
        (
            group("votes = 2\ndestructive_votes = 1"),
            &[
                "groups[0].destructive_votes: is 1, fewer than the 2 of votes; write at least as many for what cannot be undone, or remove it",
            ],
        ),
        (
            group("requester_may_answer = false\ndestructive_votes = 2"),
            &[
                "groups[0].requester_may_answer: is false, and without the person of `me` 1 of the approvers can answer, 1 of them in telegram:-1: not enough for 2 of them to agree; name more approvers, lower the votes, or remove it",
            ],
        ),
        (
            with_group(
                "place = \"telegram:-1\"\naccounts = [\"me\"]\napprovers = [\"telegram:7\", \"discord:8\"]\nrequester_may_answer = false",
            ),
            &[
                "groups[0].requester_may_answer: is false, and without the person of `me` 1 of the approvers can answer, 0 of them in telegram:-1: not enough for 1 of them to agree; name more approvers, lower the votes, or remove it",
            ],
        ),
        (
            group("confirm_destructive = 1"),
            &["groups[0].confirm_destructive: is an integer, not true or false; write true or false"],
        ),
    ];
    prints(table);
    for good in ["votes = 2", "destructive_votes = 2", "requester_may_answer = false", "confirm_destructive = false"] {
        assert_eq!(printed(&group(good)).expect("written"), [""; 0], "{good}");
    }
}
