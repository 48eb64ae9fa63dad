#!/bin/sh
# Takes away, one at a time, what the promise "nothing lost, nothing doubled" rests on: every fsync, every compare-and-swap,
# and every "only then". Each time a named test has to fail. Prints a table: mutation, test, caught or not.
#
#   scripts/mutations.sh            everything; some minutes of both processors
#   scripts/mutations.sh store      only those whose name contains "store"
#
# It works on a copy of the workspace in a temporary folder with a target folder of its own, and leaves the checkout alone.
# Not part of ./test. A mutation whose text is not found any more is an error: adapt it to the code.
# MUTATIONS_DIR=/some/folder keeps copy and target folder there for the next run.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
only=${1:-}
work=${MUTATIONS_DIR:-$(mktemp -d)}
[ -n "${MUTATIONS_DIR:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/askgate"
export CARGO_TARGET_DIR="$work/target" RUST_BACKTRACE=0 CARGO_INCREMENTAL=1
tar -C "$root" --exclude ./target --exclude ./.git -cf - . | tar -C "$work/askgate" -xf -
[ ! -d "$root/../shared" ] || ln -sfn "$(cd "$root/../shared" && pwd)" "$work/shared"
cd "$work/askgate"

missed=0
say() { printf '%-12s %-62s %s\n' "$1" "$2" "$3"; }

# run TEST... : whether the tests still pass. A test is crate:target:name.
run() {
    for test in "$@"; do
        crate=${test%%:*} rest=${test#*:}
        target=${rest%%:*} name=${rest#*:}
        case $target in lib) of=--lib ;; *) of="--test $target" ;; esac
        # The whole-system tests run the binary, armed by the crate of the tests.
        [ "$crate" != tests ] || cargo build -q -p gateway -p tests --bins 2>"$work/log" || return 2
        # shellcheck disable=SC2086
        cargo test -q -p "$crate" $of --no-run 2>"$work/log" || return 2
        # shellcheck disable=SC2086
        timeout 180 cargo test -q -p "$crate" $of -- "$name" >"$work/log" 2>&1 || return 1
        grep -q '[1-9][0-9]* passed' "$work/log" || return 3
    done
}

# mutate WHAT FILE PERL TEST : applies the substitution to the file, and expects the test to fail.
mutate() {
    case "$1" in *"$only"*) ;; *) return 0 ;; esac
    cp "$2" "$work/kept"
    perl -0pi -e "$3" "$2"
    if cmp -s "$2" "$work/kept"; then
        say "NOT FOUND" "$1" "$2"
        missed=$((missed + 1))
        return 0
    fi
    result=0
    run "$4" || result=$?
    case $result in
        0) say "NOT CAUGHT" "$1" "$4"; missed=$((missed + 1)) ;;
        1) say caught "$1" "$4" ;;
        2) say "NO BUILD" "$1" "$(grep -m1 '^error' "$work/log" || true)"; missed=$((missed + 1)) ;;
        *) say "NO TEST" "$1" "$4"; missed=$((missed + 1)) ;;
    esac
    # A new time, so that cargo sees the change back.
    cat "$work/kept" >"$2"
}

d=store/src/sled

# Every fsync.
mutate "store: the system's fsync does nothing" $d/disk.rs \
    's/(impl DiskSync for FileSync \{.*?)file\.sync_all\(\)/$1let _ = file; Ok(())/s' store:ledger:powercut::whatever_a_power_cut_leaves_is_right
mutate "store: a group is not fsynced" $d/disk.rs \
    's/self\.recipe\.sync\.sync\(&self\.file\)/Ok::<(), io::Error>(())/' store:ledger:syncing::nothing_is_answered_before_its_sync
mutate "store: a group is not flushed by sled" $d/disk.rs \
    's/calm\(\|\| self\.db\.flush\(\)\)\?;//' store:ledger:powercut::whatever_a_power_cut_leaves_is_right
mutate "store: a new store's files are not fsynced" $d/disk.rs \
    's/File::open\(entry\.path\(\)\)\?\.sync_all\(\)\?;//' store:ledger:powercut::whatever_a_power_cut_leaves_is_right
mutate "store: a new store's names are not fsynced" $d/disk.rs \
    's/(fn sync_new_store.*?)    sync_directory\(path\)/$1    Ok(())/s' store:ledger:powercut::whatever_a_power_cut_leaves_is_right
mutate "store: the directory's own name is not fsynced" $d/place.rs \
    's/sync_parent\(path\)\.map_err\(failed\)\?;//' store:ledger:powercut::whatever_a_power_cut_leaves_is_right
mutate "store: what is set aside is not fsynced" $d/place.rs \
    's/        sync_directory\(target\)\?;//' store:ledger:powercut::what_is_set_aside_and_the_new_store_survive
mutate "store: the name of what is set aside is not fsynced" $d/place.rs \
    's/        sync_parent\(target\)\n/        Ok(())\n/' store:ledger:powercut::what_is_set_aside_and_the_new_store_survive
mutate "store: an import is not fsynced" $d/offline.rs \
    's/    sync_new_store\(path\)\?;//' store:ledger:powercut::an_import_that_was_reported_survives
mutate "store: the note of a doubt is not fsynced" $d/doubt.rs \
    's/sync\.sync_doubt\(&self\.0\)/{ let _ = sync; Ok(()) }/' store:ledger:powercut::whatever_a_power_cut_leaves_is_right

# Every "only then" of the store.
mutate "store: answered before the group is written" $d/writer.rs \
    's/if let Some\(verdict\) = self\.commit\(group\) \{\s*answer_all\(jobs, &verdict\);/answer_all(jobs, &Ok(())); jobs = Vec::new(); if let Some(verdict) = self.commit(group) { answer_all(jobs, &verdict);/' store:ledger:syncing::nothing_is_answered_before_its_sync
mutate "store: a position is published before it is durable" $d/writer.rs \
    's/let outcome = match \(&self\.disk/self.sequence.store(counters.seq, Ordering::SeqCst); let outcome = match (&self.disk/' store:ledger:syncing::nothing_is_answered_before_its_sync
mutate "store: refused before the doubt is noted" $d/writer.rs \
    's/\|\| self\.note_doubts\(\)/|| true/' store:ledger:refused::a_refused_claim_does_not_surface_in_the_next_process
mutate "store: refused although the doubt was not noted" $d/writer.rs \
    's/        noted\.is_ok\(\)/        true/' store:ledger:refused::while_the_doubt_cannot_be_noted_nobody_is_told_anything
mutate "store: closing tells the undecided" $d/writer.rs \
    's/self\.repair\.undecided\.drain\(\.\.\)\.for_each\(std::mem::forget\);/self.repair.undecided.clear();/' store:ledger:refused::closing_tells_the_undecided_nothing
mutate "store: a noted doubt is not undone" $d/doubt.rs \
    's/note\.counters\.commit >= counters\.commit/false/' store:ledger:refused::a_refused_claim_does_not_surface_in_the_next_process
mutate "store: a settled doubt is undone again" $d/doubt.rs \
    's/note\.counters\.commit >= counters\.commit/true/' store:ledger:refused::a_note_that_was_left_behind_undoes_nothing
mutate "store: a doubtful group counts though it was refused" $d/writer.rs \
    's/let mut there = waiting;/let mut there = true;/' store:ledger:syncing::what_was_called_not_saved_never_surfaces
mutate "store: a store that lost its end is believed" $d/disk.rs \
    's/if reached < noted \{/if false {/' store:ledger:damage::a_damaged_store_is_set_aside_and_a_new_one_works

# Every compare-and-swap.
mutate "store: claim does not look whether the ask is open" $d/ops.rs \
    's/old\.life\.clone\(\)\.claimed\(claim\)/asks::life::Life::Live { note: None }.claimed(claim)/' store:ledger:taps::of_64_concurrent_taps_exactly_one_wins
mutate "store: claim does not look whether the button is offered" $d/ops.rs \
    's/if !is_offered\(&old, &claim\.button\)/if !is_offered(&old, &claim.button) \&\& false/' store:ledger:contract::sled_keeps_the_contract
mutate "store: a move does not look at the position" $d/ops.rs \
    's/if old\.seq != step\.expect \{/if old.seq != step.expect \&\& false {/' store:ledger:contract::sled_keeps_the_contract
mutate "store: an ask is recorded although it is known" $d/ops.rs \
    's/if let Some\(known\) = txn\.ask\(id\)\? \{/if let Some(known) = txn.ask(id)?.filter(|_| false) {/' store:ledger:contract::sled_keeps_the_contract
mutate "store: a delivery is added although there is one" $d/ops.rs \
    's/\.find\(\|delivery\| delivery\.place == place\)/.find(|delivery| delivery.place == place \&\& false)/' store:ledger:contract::sled_keeps_the_contract
mutate "store: an operation does not see its group" $d/txn.rs \
    's/self\.own\.get\(key\)\.or_else\(\|\| self\.group\.changes\.get\(key\)\)/self.own.get(key)/' store:ledger:taps::of_64_concurrent_taps_exactly_one_wins
mutate "store: an ask is finished although a card is on its way" $d/ops.rs \
    's/\.all\(has_ended\)/.all(|delivery| has_ended(delivery) || true)/' store:ledger:contract::sled_keeps_the_contract

# Confirm after durable.
mutate "telegram: a batch is confirmed before its presses are durable" adapters/src/channels/telegram/listen.rs \
    's/if let Some\(last\) = self\.ear\.take\(updates\)\.await \{/let last = updates.iter().filter_map(update::id).max(); let _ = tokio::time::timeout(Duration::from_millis(1), self.ear.take(updates)).await; if let Some(last) = last {/' adapters:lib:a_batch_is_confirmed_only_after_every_press_of_it
mutate "gateway: a press is acknowledged before its claim is durable" gateway/src/answer/press.rs \
    's/match hub\.ledger\.claim\(&record\.key, claim, line\)\.await\? \{/let (early, of) = (Arc::clone(hub), record.key.clone()); let claimed = async move { early.ledger.claim(\&of, claim, line).await }; if record.life.is_open() { let hub = Arc::clone(hub); hub.clone().spawn(async move { if let Ok(Claimed::Won(record)) = claimed.await { super::start(\&hub, record.key.clone()); } }); return Ok(Reply::Defer); } match claimed.await? {/' tests:store_full:a_tap_on_a_full_disk_is_told_and_sends_nothing

[ "$missed" = 0 ] || { printf '%s mutations were not caught\n' "$missed"; exit 1; }
