use annals_core::{Census, ClassicPolicy, Coverage, LedgerRange, LedgerSeq, ScopeKey};

use super::parts::*;
use super::*;
use crate::store::{FeedPosition, FollowStateName, Freshness, Gap, SeenTip};

const NOW_MS: u64 = 1_700_000_000_000;
const TIP: u32 = 1_000;
const RESERVE: u64 = 1_000;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

fn range(from: u32, to: u32) -> LedgerRange {
    LedgerRange::new(seq(from), seq(to)).unwrap()
}

fn gap(from: u32, to: u32) -> Gap {
    Gap { key: ScopeKey::All, range: range(from, to), attempts: 1, last_code: None, last_error: None }
}

/// An archive that follows its network, caught up and well.
fn well() -> Status {
    let tip = SeenTip { ledger: seq(TIP), closed_ms: Some(NOW_MS - 3_000), seen_ms: NOW_MS - 2_000 };
    Status {
        passphrase: Some("x".to_owned()),
        classic: ClassicPolicy::Keep,
        start: Some(seq(1)),
        coverage: vec![(ScopeKey::All, Coverage::from_iter([range(1, TIP)]))],
        verified: Coverage::from_iter([range(1, TIP)]),
        latest_ledger: Some(seq(TIP)),
        grown_ms: Some(NOW_MS - 2_000),
        events: Census::default(),
        gaps: Vec::new(),
        open_incidents: 0,
        feed_position: FeedPosition(1),
        epoch: 0,
        pins: Vec::new(),
        anchors: Vec::new(),
        quarantined: 0,
        unattributed: Vec::new(),
        freshness: Some(Freshness {
            state: FollowStateName::Following,
            tip: Some(tip),
            source_answered_ms: Some(NOW_MS - 1_000),
            ..Freshness::beginning(NOW_MS - 1_000)
        }),
    }
}

fn around() -> Surroundings {
    Surroundings {
        now_ms: NOW_MS,
        own_follower: Some(OwnState::AsItSays),
        is_writable: true,
        free_bytes: Some(RESERVE),
        reserve_bytes: RESERVE,
        cadence: Cadence::new(100, 500_000),
    }
}

type Change = fn(&mut Status, &mut Surroundings);

fn said(status: &mut Status) -> &mut Freshness {
    status.freshness.as_mut().unwrap()
}

fn tip(status: &mut Status) -> &mut SeenTip {
    said(status).tip.as_mut().unwrap()
}

fn waits(status: &mut Status, code: &str) {
    said(status).state = FollowStateName::Waiting;
    said(status).code = Some(code.to_owned());
    said(status).message = Some("https://user:s3cr3t@rpc.example says no".to_owned());
}

/// One way in which a part can be.
struct Way {
    change: Change,
    level: Level,
    code: Option<&'static str>,
}

fn way(level: Level, code: &'static str, change: Change) -> Way {
    Way { change, level, code: (!code.is_empty()).then_some(code) }
}

/// Every way in which the tip can be without touching another part.
fn tip_ways() -> Vec<Way> {
    use Level::{Degraded, Failing, Ok};
    vec![
        way(Ok, "", |_, _| ()),
        way(Ok, "", |status, _| tip(status).seen_ms = NOW_MS - 60_000),
        way(Failing, "TIP_STUCK", |status, _| tip(status).seen_ms = NOW_MS - 60_001),
        way(Degraded, "TIP_UNKNOWN", |status, _| said(status).tip = None),
        way(Ok, "", |status, _| status.latest_ledger = Some(seq(TIP - 3))),
        way(Degraded, "CATCHING_UP", |status, _| status.latest_ledger = Some(seq(TIP - 4))),
        way(Failing, "NOT_GROWING", |status, _| {
            status.latest_ledger = Some(seq(TIP - 4));
            status.grown_ms = Some(NOW_MS - NOT_GROWING_MS - 1);
        }),
        way(Ok, "", |status, _| status.grown_ms = Some(NOW_MS - NOT_GROWING_MS - 1)),
        way(Degraded, "SOURCE_BEHIND", |status, _| tip(status).closed_ms = Some(NOW_MS - 60_001)),
        way(Ok, "", |status, _| tip(status).closed_ms = Some(NOW_MS + CLOSE_AHEAD_MS)),
        way(Degraded, "CLOCK_BEHIND", |status, _| tip(status).closed_ms = Some(NOW_MS + CLOSE_AHEAD_MS + 1)),
    ]
}

/// For each part, every way in which it can be without touching another one; the first is well.
fn ways() -> [(&'static str, Vec<Way>); 8] {
    use Level::{Degraded, Failing, Off, Ok};
    let well = || way(Ok, "", |_, _| ());
    [
        ("database", vec![well(), way(Failing, "DATABASE_READ_ONLY", |_, around| around.is_writable = false)]),
        (
            "writer",
            vec![
                well(),
                way(Ok, "", |status, _| said(status).heartbeat_ms = NOW_MS - WRITER_DEAD_MS),
                way(Failing, "WRITER_DEAD", |status, _| said(status).heartbeat_ms = NOW_MS - WRITER_DEAD_MS - 1),
                way(Ok, "", |status, _| said(status).heartbeat_ms = NOW_MS + AHEAD_MS),
                way(Failing, "CLOCK_AHEAD", |status, _| said(status).heartbeat_ms = NOW_MS + AHEAD_MS + 1),
            ],
        ),
        (
            "source",
            vec![
                well(),
                way(Ok, "", |status, _| said(status).source_answered_ms = Some(NOW_MS - SOURCE_HUNG_MS)),
                way(Failing, "SOURCE_HUNG", |status, _| {
                    said(status).source_answered_ms = Some(NOW_MS - SOURCE_HUNG_MS - 1);
                }),
                way(Failing, "SOURCE_HUNG", |status, _| said(status).source_answered_ms = None),
                way(Failing, "TIP_UNREADABLE", |status, _| waits(status, "TIP_UNREADABLE")),
                way(Failing, "TIP_UNSERVED", |status, _| waits(status, "TIP_UNSERVED")),
            ],
        ),
        ("tip", tip_ways()),
        (
            "disk",
            vec![
                well(),
                way(Failing, "DISK_NEARLY_FULL", |_, around| around.free_bytes = Some(RESERVE - 1)),
                way(Off, "", |_, around| around.free_bytes = None),
            ],
        ),
        (
            "gaps",
            vec![
                well(),
                way(Degraded, "GAPS_OPEN", |status, _| status.gaps = vec![gap(900, 950), gap(7, 9)]),
                way(Ok, "", |status, _| status.gaps = vec![gap(TIP + 1, TIP + 5)]),
            ],
        ),
        ("incidents", vec![well(), way(Failing, "INCIDENT_OPEN", |status, _| status.open_incidents = 2)]),
        (
            "protocol",
            vec![
                well(),
                way(Degraded, "PROTOCOL_AHEAD", |status, _| {
                    said(status).announced = Some("https://user:s3cr3t@rpc.example".to_owned());
                }),
            ],
        ),
    ]
}

#[test]
fn the_whole_is_as_bad_as_its_worst_part_in_every_combination() {
    let ways = ways();
    let counts: Vec<usize> = ways.iter().map(|(_, ways)| ways.len()).collect();
    let combinations: usize = counts.iter().product();
    assert_eq!(combinations, 2 * 5 * 6 * 11 * 3 * 3 * 2 * 2);
    for mut number in 0..combinations {
        let (mut status, mut around) = (well(), around());
        let mut expected = Vec::new();
        for (name, ways) in &ways {
            let chosen = &ways[number % ways.len()];
            number /= ways.len();
            (chosen.change)(&mut status, &mut around);
            expected.push((*name, chosen.level, chosen.code));
        }
        // The one part that another one keeps from being known.
        if expected[0].2.is_some() {
            expected[5] = ("gaps", Level::Degraded, Some("GAPS_UNKNOWN"));
        }
        let readiness = Readiness::of(&status, &around);
        let parts: Vec<_> = readiness.parts.iter().map(|part| (part.name, part.status, part.code.as_deref())).collect();
        assert_eq!(parts, expected);
        let worst = expected.iter().map(|(_, level, _)| *level).max().unwrap();
        assert_eq!(readiness.status, worst.max(Level::Ok), "{expected:?}");
        for part in &readiness.parts {
            assert_eq!(part.code.is_some(), part.message.is_some(), "{part:?}");
            assert_eq!(part.code.is_some(), part.status >= Level::Degraded, "{part:?}");
            assert!(!part.message.as_ref().is_some_and(|message| message.contains("s3cr3t")), "{part:?}");
        }
    }
}

/// The parts that are not well, under a change.
fn unwell(change: Change) -> Vec<(&'static str, Level, String)> {
    let (mut status, mut around) = (well(), around());
    change(&mut status, &mut around);
    let readiness = Readiness::of(&status, &around);
    assert_eq!(readiness.parts.iter().map(|part| part.name).collect::<Vec<_>>(), NAMES);
    let unwell = readiness.parts.into_iter().filter(|part| part.status != Level::Ok);
    unwell.map(|part| (part.name, part.status, part.code.unwrap_or_default().into_owned())).collect()
}

fn off(name: &'static str) -> (&'static str, Level, String) {
    (name, Level::Off, String::new())
}

#[test]
fn a_follower_that_waits_is_told_by_what_it_waits_for() {
    let failing = |name, code: &str| (name, Level::Failing, code.to_owned());
    let asleep = |told| [vec![off("source"), off("tip")], vec![told]].concat();
    let protocol = unwell(|status, _| waits(status, "UNKNOWN_PROTOCOL"));
    assert_eq!(protocol, asleep(failing("protocol", "UNKNOWN_PROTOCOL")));
    let disk = unwell(|status, _| waits(status, "DISK_NEARLY_FULL"));
    assert_eq!(disk, asleep(failing("disk", "DISK_NEARLY_FULL")), "whatever this process sees of the disk");
    let incident = unwell(|status, _| {
        waits(status, "INCIDENT_OPEN");
        status.open_incidents = 1;
    });
    assert_eq!(incident, asleep(failing("incidents", "INCIDENT_OPEN")));
    let source = unwell(|status, _| waits(status, "RATE_LIMITED"));
    assert_eq!(source, [("source", Level::Degraded, "RATE_LIMITED".to_owned())]);
    let unnamed = unwell(|status, _| said(status).state = FollowStateName::Waiting);
    assert_eq!(unnamed, [("source", Level::Degraded, "WAITING".to_owned())]);
    // A code of a follower that does not wait any more says nothing.
    let resumed = unwell(|status, _| {
        waits(status, "UNKNOWN_PROTOCOL");
        said(status).state = FollowStateName::CatchingUp;
    });
    assert_eq!(resumed, []);
}

#[test]
fn a_follower_that_ended_in_order_fails_nothing_unless_this_process_is_to_follow() {
    let ended: Change = |status, around| {
        said(status).state = FollowStateName::Stopped;
        said(status).heartbeat_ms = 0;
        said(status).source_answered_ms = Some(0);
        tip(status).seen_ms = 0;
        around.own_follower = None;
    };
    let idle = [off("writer"), off("source"), off("tip"), off("protocol")];
    assert_eq!(unwell(ended), idle);
    let never: Change = |status, around| {
        status.freshness = None;
        around.own_follower = None;
        // Nobody fills it, so that it is no matter whether this process could.
        around.is_writable = false;
    };
    assert_eq!(unwell(never), idle);
    let silent = ("writer", Level::Failing, "WRITER_SILENT".to_owned());
    assert_eq!(unwell(|status, _| status.freshness = None), [silent.clone(), off("source"), off("tip")]);
    let not_begun = unwell(|status, _| said(status).state = FollowStateName::Stopped);
    assert_eq!(not_begun, [silent, off("source"), off("tip")]);
}

#[test]
fn a_full_disk_is_told_by_whom_it_fills_however_old_the_archives_word_is() {
    let full = [
        off("source"),
        off("tip"),
        ("disk", Level::Failing, "DISK_FULL".to_owned()),
        ("gaps", Level::Degraded, "GAPS_UNKNOWN".to_owned()),
    ];
    assert_eq!(unwell(|status, _| waits(status, "DISK_FULL")), full, "as another process reads it");
    let unheard: [Change; 3] = [
        |_, _| (),
        |status, _| status.freshness = None,
        |status, _| {
            said(status).heartbeat_ms = 0;
            said(status).source_answered_ms = Some(0);
            tip(status).seen_ms = 0;
        },
    ];
    for word in unheard {
        let (mut status, mut around) = (well(), around());
        word(&mut status, &mut around);
        around.own_follower = Some(OwnState::DiskFull);
        let readiness = Readiness::of(&status, &around);
        let told = readiness.parts.into_iter().filter(|part| part.status != Level::Ok);
        let told = told.map(|part| (part.name, part.status, part.code.unwrap_or_default().into_owned()));
        assert_eq!(told.collect::<Vec<_>>(), full);
    }
}

#[test]
fn a_follower_that_failed_here_is_named_at_once_and_its_last_word_counts_no_more() {
    let failed = unwell(|_, around| around.own_follower = Some(OwnState::Failed("STALE_FENCE")));
    let writer = ("writer", Level::Failing, "STALE_FENCE".to_owned());
    let gaps = ("gaps", Level::Degraded, "GAPS_UNKNOWN".to_owned());
    assert_eq!(failed, [writer, off("source"), off("tip"), gaps, off("protocol")]);
}

#[test]
fn a_disk_counts_as_full_until_something_is_stored_or_something_else_is_waited_for() {
    use FollowStateName::{CatchingUp, Following, Waiting};
    let own = OwnFollower::default();
    assert_eq!(own.state(), OwnState::AsItSays);
    let fill = || own.does(Waiting, Some("DISK_FULL"));
    fill();
    own.does(CatchingUp, None);
    assert_eq!(own.state(), OwnState::DiskFull, "it only tries again");
    own.has_stored();
    assert_eq!(own.state(), OwnState::AsItSays);
    for (doing, code) in [(Following, None), (Waiting, Some("DISK_NEARLY_FULL"))] {
        fill();
        own.does(doing, code);
        assert_eq!(own.state(), OwnState::AsItSays, "{code:?}");
    }
    own.has_failed("DATABASE");
    assert_eq!(own.state(), OwnState::Failed("DATABASE"));
}

#[test]
fn whoever_is_behind_is_told_what_the_follower_waits_for() {
    let (mut status, around) = (well(), around());
    status.latest_ledger = Some(seq(TIP - 100));
    status.grown_ms = Some(NOW_MS - NOT_GROWING_MS - 1);
    let told = |status: &Status| {
        let parts = Readiness::of(status, &around).parts;
        parts.into_iter().find(|part| part.code.as_deref() == Some("NOT_GROWING")).unwrap().message.unwrap()
    };
    assert!(told(&status).contains("no source gives what can be stored"), "{}", told(&status));
    waits(&mut status, "DOES_NOT_LINK");
    assert!(told(&status).contains("the follower waits (DOES_NOT_LINK)"), "{}", told(&status));
}

#[test]
fn readers_of_an_archive_that_nobody_fills_are_only_warned_of_a_full_disk() {
    let unfilled = unwell(|status, around| {
        status.freshness = None;
        around.own_follower = None;
        around.free_bytes = Some(0);
    });
    assert!(unfilled.contains(&("disk", Level::Degraded, "DISK_NEARLY_FULL".to_owned())), "{unfilled:?}");
    let asked_ahead = unwell(|status, around| {
        status.freshness = None;
        around.own_follower = None;
        status.gaps = vec![gap(TIP + 1, TIP + 5)];
    });
    assert!(asked_ahead.contains(&("gaps", Level::Degraded, "GAPS_OPEN".to_owned())), "{asked_ahead:?}");
}

#[test]
fn an_archive_that_holds_nothing_is_not_ready_however_new_it_is() {
    let empty = unwell(|status, _| {
        status.latest_ledger = None;
        status.grown_ms = None;
    });
    assert_eq!(empty, [("tip", Level::Failing, "NOT_GROWING".to_owned())]);
}

#[test]
fn thresholds_follow_the_cadence_within_bounds() {
    let stuck_after = |cadence: Option<Cadence>| {
        let code = |standing_ms: u64| {
            let mut status = well();
            // Of the tip alone: the rest was just said.
            tip(&mut status).seen_ms = NOW_MS - standing_ms;
            tip(&mut status).closed_ms = None;
            let readiness = Readiness::of(&status, &Surroundings { cadence, ..around() });
            readiness.parts.into_iter().find(|part| part.name == "tip").unwrap().code
        };
        (1..=700).map(|second| second * 1_000).find(|standing_ms| code(*standing_ms + 1).is_some())
    };
    assert_eq!(stuck_after(None), Some(60_000));
    assert_eq!(stuck_after(Cadence::new(100, 500_000)), Some(60_000));
    assert_eq!(stuck_after(Cadence::new(100, 20_000)), Some(60_000), "ledgers that close five times a second");
    assert_eq!(stuck_after(Cadence::new(100, 3_000_000)), Some(360_000), "one in half a minute");
    assert_eq!(stuck_after(Cadence::new(1, 86_400_000)), Some(600_000));

    let tolerated = |cadence: Option<Cadence>| {
        let is_behind = |behind: &u32| {
            let mut status = well();
            status.latest_ledger = Some(seq(TIP - behind));
            let readiness = Readiness::of(&status, &Surroundings { cadence, ..around() });
            readiness.status != Level::Ok
        };
        (0..TIP).find(is_behind).unwrap() - 1
    };
    assert_eq!(tolerated(None), 3);
    assert_eq!(tolerated(Cadence::new(100, 20_000)), 75, "fifteen seconds of ledgers");
    assert_eq!(tolerated(Cadence::new(1, 60_000)), 3);
}

#[test]
fn the_tip_that_is_told_is_never_below_what_is_stored() {
    let mut status = well();
    assert_eq!(status.tip(), status.freshness.as_ref().unwrap().tip);
    status.latest_ledger = Some(seq(TIP + 2));
    status.grown_ms = Some(NOW_MS - 500);
    assert_eq!(status.tip(), Some(SeenTip { ledger: seq(TIP + 2), closed_ms: None, seen_ms: NOW_MS - 500 }));
    said(&mut status).tip = None;
    assert_eq!(status.tip(), None, "nobody was asked");
}

#[test]
fn no_clock_makes_a_dead_follower_look_alive_or_breaks_the_judgement() {
    let status = well();
    for now_ms in [0, 1, NOW_MS - 3_600_000, NOW_MS + 3_600_000, u64::MAX] {
        let readiness = Readiness::of(&status, &Surroundings { now_ms, ..around() });
        assert_eq!(readiness.status, Level::Failing, "{now_ms}");
        assert_eq!(readiness.parts[1].status, Level::Failing, "{now_ms}: {:?}", readiness.parts[1]);
    }
    let mut future = well();
    said(&mut future).heartbeat_ms = u64::MAX;
    assert_eq!(Readiness::of(&future, &around()).parts[1].code.as_deref(), Some("CLOCK_AHEAD"));
    // A tip that closed "tomorrow" is as old as the time since it was said.
    let tip = SeenTip { ledger: seq(TIP), closed_ms: Some(NOW_MS + 86_400_000), seen_ms: NOW_MS - 7_000 };
    assert_eq!((tip.age_ms(NOW_MS), tip.age_ms(0)), (7_000, 0));
    let unsaid = SeenTip { closed_ms: None, ..tip };
    assert_eq!(unsaid.age_ms(NOW_MS), 7_000);
    let late = SeenTip { closed_ms: Some(NOW_MS - 9_000), ..tip };
    assert_eq!(late.age_ms(NOW_MS), 9_000);
}

#[test]
fn an_archive_that_cannot_be_read_says_so_and_no_more() {
    let unreadable = Readiness::unreadable();
    assert_eq!(unreadable.status, Level::Failing);
    assert_eq!(unreadable.parts.iter().map(|part| part.name).collect::<Vec<_>>(), NAMES);
    let told: Vec<_> = unreadable.parts.iter().filter(|part| part.status != Level::Off).collect();
    assert_eq!(told.iter().map(|part| part.code.as_deref()).collect::<Vec<_>>(), [Some("DATABASE_UNREADABLE")]);
}
