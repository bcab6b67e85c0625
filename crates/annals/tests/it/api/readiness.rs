//! I4: readiness is never green while indexing is dead, whatever still answers. A follower is played by what it writes
//! into the archive, by a clock that the test moves; what readers are told goes over HTTP.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use annals::api::Limits;
use annals::clock::{Clock as _, SystemClock};
use annals::readiness::{OwnFollower, Place};
use annals::store::{Fence, FollowStateName, Freshness, SeenTip, SqliteStore, Store};
use annals_core::Scope;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::archive::Archive;
use super::fake::{Fake, Mood};
use super::server::{Local, Served, whole};
use crate::binary::{Ran, annals, report};
use crate::store::fixtures::{StandingClock, batch_of, begin, close_time_ms, contract, forked, full, request, seq};

/// Within how many seconds whoever watches is told of each death.
const TOLD_WITHIN: u64 = 65;
/// How often a follower says that it lives, milliseconds.
const HEARTBEAT_MS: u64 = 5_000;

/// An archive of a network that closes a ledger every five seconds, its follower, and a server.
struct Followed {
    clock: Arc<StandingClock>,
    store: Arc<SqliteStore>,
    fence: Fence,
    said: Freshness,
    ledger: u32,
    local: Local,
    own: Arc<OwnFollower>,
    _folder: TempDir,
}

impl Followed {
    /// Followed up to ledger 100, just now.
    fn new() -> Self {
        Self::in_place(|place| place)
    }

    fn in_place(change: impl FnOnce(Place) -> Place) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(StandingClock::default());
        let store = Arc::new(SqliteStore::create_or_open(folder.path(), clock.clone()).unwrap());
        let own = Arc::<OwnFollower>::default();
        let fence = begin(store.as_ref(), 1, 99);
        store.commit(&full(1, 99), fence).unwrap();
        // The disk of whoever runs this is no matter.
        let place = Place { own_follower: Some(own.clone()), reserve_bytes: 0, ..Place::of(&store) };
        let local = Local::in_place(store.clone(), clock.clone(), Limits::default(), change(place));
        let said = Freshness { state: FollowStateName::Following, ..Freshness::beginning(0) };
        let mut followed = Self { clock, store, fence, said, ledger: 99, local, own, _folder: folder };
        followed.closes();
        followed
    }

    fn now_ms(&self) -> u64 {
        self.clock.now_unix_ms()
    }

    fn wait_ms(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    /// The follower says that it lives, and what it knows.
    fn lives(&mut self) {
        self.said.heartbeat_ms = self.now_ms();
        self.store.note_freshness(&self.said, self.fence).unwrap();
    }

    /// A source answers with a tip.
    fn hears(&mut self, tip: u32, closed_ms: u64) {
        let now_ms = self.now_ms();
        self.said.tip = Some(SeenTip { ledger: seq(tip), closed_ms: Some(closed_ms), seen_ms: now_ms });
        self.said.source_answered_ms = Some(now_ms);
        self.lives();
    }

    /// The next ledger closes, and is there a second later.
    fn closes(&mut self) {
        self.ledger += 1;
        let closed_ms = close_time_ms(seq(self.ledger));
        self.clock.0.store(closed_ms + 1_000, Ordering::Relaxed);
        self.store.request(&request(Scope::All, self.ledger, self.ledger), self.fence).unwrap();
        self.store.commit(&full(self.ledger, self.ledger), self.fence).unwrap();
        self.hears(self.ledger, closed_ms);
    }

    #[track_caller]
    fn readyz(&self) -> (u16, Value) {
        let reply = self.local.get("/readyz");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let json = reply.json();
        assert_eq!(reply.status == 503, json["status"] == "failing", "the status and the body are one word: {json}");
        self.local.get("/healthz").answers();
        (reply.status, json)
    }

    /// The seconds until whoever watches is told that something fails, while `step` goes on every five seconds.
    #[track_caller]
    fn told_after(&mut self, mut step: impl FnMut(&mut Self)) -> (u64, Value) {
        let began_ms = self.now_ms();
        let (status, json) = self.readyz();
        assert_eq!((status, &json["status"]), (200, &json!("ok")), "{json}");
        for _ in 0..100 {
            self.wait_ms(HEARTBEAT_MS);
            step(self);
            let (status, json) = self.readyz();
            if status == 503 {
                return ((self.now_ms() - began_ms) / 1_000, json);
            }
        }
        panic!("nobody is ever told: {:?}", self.readyz());
    }

    fn health(&self, query: &str) -> Value {
        self.local.get(&format!("/v1/health{query}")).answers()
    }
}

/// The codes of the parts that are not well.
fn unwell(readiness: &Value) -> Vec<(&str, &str, &str)> {
    let parts = readiness["parts"].as_array().unwrap().iter();
    parts
        .filter(|part| part["status"] != "ok")
        .map(|part| {
            let word = |field: &str| part[field].as_str().unwrap_or_default();
            (word("name"), word("status"), word("code"))
        })
        .collect()
}

#[test]
fn i4_a_source_that_hangs_for_ever_is_named_although_its_follower_lives() {
    let mut followed = Followed::new();
    let (after, json) = followed.told_after(Followed::lives);
    assert!(after <= TOLD_WITHIN, "{after}");
    let told = unwell(&json);
    assert!(told.contains(&("source", "failing", "SOURCE_HUNG")), "{json}");
    assert!(!told.iter().any(|(name, ..)| *name == "writer"), "{json}");
}

#[test]
fn i4_b_a_tip_that_stands_is_named_although_its_source_answers() {
    let mut followed = Followed::new();
    let closed_ms = followed.now_ms() - 1_000;
    let (after, json) = followed.told_after(|followed| followed.hears(100, closed_ms));
    assert!(after <= TOLD_WITHIN, "{after}");
    assert_eq!(unwell(&json), [("tip", "failing", "TIP_STUCK")], "{json}");
    let health = followed.health("");
    assert_eq!((&health["tip_ledger"], &health["tip_age_seconds"]), (&json!(100), &json!(after + 1)));
}

#[test]
fn i4_c_a_loop_that_died_without_a_word_is_named_and_looks_less_fresh_every_second() {
    let mut followed = Followed::new();
    let fresh = followed.health("");
    assert_eq!((&fresh["lag_seconds"], &fresh["tip_age_seconds"]), (&json!(1), &json!(1)));
    let (after, json) = followed.told_after(|_| ());
    assert!(after <= TOLD_WITHIN, "{after}");
    assert!(unwell(&json).contains(&("writer", "failing", "WRITER_DEAD")), "{json}");
    let dead = followed.health("");
    assert_eq!((&dead["lag_seconds"], &dead["tip_age_seconds"]), (&json!(after + 1), &json!(after + 1)));
    // It stays dead until another one follows.
    followed.wait_ms(86_400_000);
    assert_eq!(followed.readyz().0, 503);
    followed.fence = followed.store.acquire().unwrap();
    followed.ledger += 1;
    followed.store.request(&request(Scope::All, 101, 101), followed.fence).unwrap();
    followed.store.commit(&full(101, 101), followed.fence).unwrap();
    followed.hears(101, followed.now_ms() - 1_000);
    assert_eq!(followed.readyz().1["status"], "ok");
}

#[test]
fn i4_d_a_database_that_cannot_be_written_or_read_is_named() {
    let read_only = Followed::in_place(|place| Place { database: Some(PathBuf::from("/nowhere/annals.db")), ..place });
    let (status, json) = read_only.readyz();
    assert_eq!(status, 503);
    assert!(unwell(&json).contains(&("database", "failing", "DATABASE_READ_ONLY")), "{json}");

    let fake = Arc::new(Fake::new(Mood::Answers));
    let local = Local::over(fake.clone(), Limits::default());
    assert_eq!(local.get("/readyz").answers()["status"], "ok");
    fake.set_mood(Mood::Fails);
    let reply = local.get("/readyz");
    assert_eq!(reply.status, 503);
    assert!(unwell(&reply.json()).contains(&("database", "failing", "DATABASE_UNREADABLE")), "{reply:?}");
}

#[test]
fn i4_g_what_the_follower_cannot_write_is_told_all_the_same() {
    let followed = Followed::new();
    followed.own.does(FollowStateName::Waiting, Some("DISK_FULL"));
    let (status, json) = followed.readyz();
    assert_eq!((status, &json["status"]), (503, &json!("failing")));
    assert!(unwell(&json).contains(&("disk", "failing", "DISK_FULL")), "{json}");
    assert!(json["parts"][4]["message"].as_str().unwrap().ends_with("make room, and it goes on by itself"), "{json}");
    followed.own.has_stored();
    assert_eq!(followed.readyz().1["status"], "ok");
    followed.own.has_failed("STALE_FENCE");
    let (status, json) = followed.readyz();
    assert_eq!(status, 503);
    assert!(unwell(&json).contains(&("writer", "failing", "STALE_FENCE")), "{json}");
}

#[test]
fn an_incident_that_a_witness_records_is_told_before_the_follower_notices() {
    let followed = Followed::new();
    assert_eq!(followed.readyz().1["status"], "ok");
    let contradicting = batch_of(Scope::All, vec![forked(100)]);
    followed.store.commit(&contradicting, followed.fence).unwrap_err();
    let (status, json) = followed.readyz();
    assert_eq!((status, unwell(&json)), (503, vec![("incidents", "failing", "INCIDENT_OPEN")]), "{json}");
}

#[test]
fn i4_e_a_quiet_network_and_a_quiet_contract_look_as_fresh_as_they_are() {
    let mut followed = Followed::new();
    for _ in 0..60 {
        followed.closes();
        let (status, json) = followed.readyz();
        assert_eq!((status, &json["status"]), (200, &json!("ok")), "{json}");
        // Every third ledger is silent; contract 77 never says anything at all.
        for query in [String::new(), format!("?contract_id={}", contract(77))] {
            let health = followed.health(&query);
            assert_eq!((&health["lag_seconds"], &health["tip_age_seconds"]), (&json!(1), &json!(1)), "{health}");
            assert_eq!(health["tip_ledger"], health["ingested_through"], "{health}");
        }
    }
}

#[test]
fn i4_f_a_gap_below_a_fresh_tip_is_told_and_turns_nobody_away() {
    let mut followed = Followed::new();
    followed.closes();
    let fence = followed.fence;
    followed.store.request(&request(Scope::All, 150, 160), fence).unwrap();
    let (status, json) = followed.readyz();
    assert_eq!((status, &json["status"]), (200, &json!("ok")), "what was just asked for above is no gap yet: {json}");
    followed.store.commit(&full(155, 160), fence).unwrap();
    followed.ledger = 160;
    followed.closes();
    let (status, json) = followed.readyz();
    assert_eq!((status, &json["status"]), (200, &json!("degraded")));
    assert_eq!(unwell(&json), [("gaps", "degraded", "GAPS_OPEN")]);
    let message = json["parts"][5]["message"].as_str().unwrap();
    assert!(message.contains("1 in all") && message.contains("150 to 154"), "{message}");
    assert_eq!(followed.health("")["ingested_through"], 101, "lag is judged below the gap");
}

#[test]
fn a_clock_that_jumps_is_told_and_heals_with_the_next_sign_of_life() {
    let mut followed = Followed::new();
    followed.clock.0.fetch_sub(3_600_000, Ordering::Relaxed);
    let (status, json) = followed.readyz();
    assert_eq!(status, 503);
    assert!(unwell(&json).contains(&("writer", "failing", "CLOCK_AHEAD")), "{json}");
    followed.lives();
    let (status, json) = followed.readyz();
    assert_eq!((status, unwell(&json)), (200, vec![("tip", "degraded", "CLOCK_BEHIND")]));
    // A source that hangs is found as soon as by any other clock.
    for _ in 0..13 {
        followed.wait_ms(HEARTBEAT_MS);
        followed.lives();
    }
    assert!(unwell(&followed.readyz().1).contains(&("source", "failing", "SOURCE_HUNG")));
}

#[test]
fn servers_and_status_tell_of_a_follower_that_died_in_another_process() {
    let archive = Archive::of(&["1000:1009"]);
    let clock = Arc::new(SystemClock::new());
    let now_ms = clock.now_unix_ms();
    let served = Served::over(&archive.data_dir(), &[]);
    let off = [("writer", "off", ""), ("source", "off", ""), ("tip", "off", ""), ("protocol", "off", "")];
    let idle = served.get("/readyz").answers();
    assert_eq!(unwell(&idle), off, "nobody ever followed");

    let note = |said: &Freshness| {
        let store = SqliteStore::open_writer(&archive.data_dir(), clock.clone()).unwrap();
        let fence = store.acquire().unwrap();
        store.note_freshness(said, fence).unwrap();
    };
    let tip = SeenTip { ledger: seq(1_009), closed_ms: None, seen_ms: now_ms - 7_200_000 };
    let dead = Freshness {
        tip: Some(tip),
        message: Some("no answer from https://rpc.example/token".to_owned()),
        code: Some("UNREACHABLE".to_owned()),
        state: FollowStateName::Waiting,
        ..Freshness::beginning(now_ms - 3_600_000)
    };
    note(&dead);
    let reply = served.get("/readyz");
    assert_eq!(reply.status, 503);
    assert!(unwell(&reply.json()).contains(&("writer", "failing", "WRITER_DEAD")), "{reply:?}");
    assert!(!String::from_utf8_lossy(&reply.body).contains("rpc.example"), "{reply:?}");
    served.get("/healthz").answers();
    let health = served.get("/v1/health").answers();
    assert_eq!(health["tip_ledger"], 1_009);
    assert!(health["tip_age_seconds"].as_u64().unwrap() >= 7_200, "{health}");

    let status = report(&["status"], &archive.data_dir()).ends_with(0).json();
    assert_eq!(status["readiness"]["status"], "failing");
    assert_eq!((&status["tip_ledger"], &status["follower"]["state"]), (&json!(1_009), &json!("waiting")));
    assert!(status["follower"]["silent_seconds"].as_u64().unwrap() >= 3_600, "{status}");
    assert!(status["lag_seconds"].as_u64().is_some(), "{status}");
    let people = Ran::of(annals(["status"]).arg("--data-dir").arg(archive.data_dir())).ends_with(0);
    for line in ["readiness        failing", "writer failing: ", "[WRITER_DEAD]", "https://rpc.example/token"] {
        assert!(people.stdout.contains(line), "{line}: {}", people.stdout);
    }

    // One that ended in order leaves nothing to complain of.
    note(&Freshness { state: FollowStateName::Stopped, ..dead });
    assert_eq!(unwell(&served.get("/readyz").answers()), off);
}

#[test]
fn the_whole_archive_is_ready_and_takes_no_parameter() {
    let ready = whole().get("/readyz").answers();
    assert_eq!(ready["status"], "ok");
    let names: Vec<&str> =
        ready["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["database", "writer", "source", "tip", "disk", "gaps", "incidents", "protocol"]);
    whole().get("/readyz?verbose=1").refuses(400, "UNKNOWN_PARAMETER");
}
