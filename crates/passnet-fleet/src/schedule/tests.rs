use proptest::prelude::*;

use super::*;
use crate::health::HealthPolicy;

const FIT: HealthCheck = HealthCheck { ratio: (1.0, 0.99, 1.01), median_ns: 100.0, memory_bytes: 0 };
const BIASED: HealthCheck = HealthCheck { ratio: (1.3, 1.2, 1.4), ..FIT };

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ready(slot: u64) -> Event {
    Event::Ready { slot: SlotId(slot), capacity: 1, foreign: None }
}

/// A station that has passed its first check.
fn admit(scheduler: &mut Scheduler, slot: u64) -> Vec<Action> {
    scheduler.handle(Duration::ZERO, Event::Joined(SlotId(slot)));
    let actions = scheduler.handle(Duration::ZERO, ready(slot));
    let [Action::Check { lease, .. }] = actions[..] else { panic!("{actions:?}") };
    scheduler.handle(Duration::ZERO, Event::Checked(lease, Ok(FIT)))
}

fn lease_in(actions: &[Action]) -> (LeaseId, JobId) {
    let found = actions.iter().find_map(|action| match action {
        Action::Lease { lease, job, .. } => Some((*lease, *job)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no lease in {actions:?}"))
}

#[test]
fn no_lease_before_a_good_check() {
    let mut scheduler = Scheduler::new(Policy::default());
    scheduler.submit(JobId(1), "run", Priority::Batch).unwrap();
    assert_eq!(scheduler.handle(Duration::ZERO, Event::Joined(SlotId(0))), []);
    let actions = scheduler.handle(Duration::ZERO, ready(0));
    let [Action::Check { lease, .. }] = actions[..] else { panic!("{actions:?}") };
    let actions = scheduler.handle(seconds(1), Event::Checked(lease, Ok(BIASED)));
    assert!(matches!(actions[..], [Action::SetAside { .. }]), "{actions:?}");
    assert_eq!(scheduler.handle(seconds(2), Event::Tick), []);
    // Checked again when its time is up.
    let actions = scheduler.handle(seconds(32), Event::Tick);
    let [Action::Check { lease, .. }] = actions[..] else { panic!("{actions:?}") };
    let actions = scheduler.handle(seconds(33), Event::Checked(lease, Ok(FIT)));
    assert_eq!(lease_in(&actions).1, JobId(1));
}

#[test]
fn a_lost_station_gives_its_job_to_another() {
    let mut scheduler = Scheduler::new(Policy::default());
    scheduler.submit(JobId(1), "run", Priority::Batch).unwrap();
    let (lost, _) = lease_in(&admit(&mut scheduler, 0));
    assert_eq!(admit(&mut scheduler, 1), [Action::Admitted(SlotId(1))]);
    let actions = scheduler.handle(seconds(1), Event::Lost(SlotId(0)));
    let (lease, job) = lease_in(&actions);
    assert_eq!(job, JobId(1));
    // News of the lost lease are ignored.
    assert_eq!(scheduler.handle(seconds(2), Event::Finished(lost)), []);
    assert_eq!(scheduler.unfinished(), 1);
    scheduler.handle(seconds(3), Event::Finished(lease));
    scheduler.handle(seconds(3), Event::Finished(lease));
    assert_eq!((scheduler.unfinished(), scheduler.counts().finished, scheduler.counts().wasted), (0, 1, 1));
}

#[test]
fn a_job_that_loses_three_stations_is_given_up() {
    let mut scheduler = Scheduler::new(Policy { attempts: 3, ..Policy::default() });
    scheduler.submit(JobId(1), "run", Priority::Batch).unwrap();
    for slot in 0..3 {
        let actions = admit(&mut scheduler, slot);
        let (lease, _) = lease_in(&actions);
        let actions = scheduler.handle(seconds(1), Event::Failed(lease, "no memory".to_owned()));
        assert!(actions.contains(&Action::Restart { slot: SlotId(slot), reason: "no memory".to_owned() }));
        let given_up = Action::GiveUp { job: JobId(1), reason: "no memory".to_owned() };
        assert_eq!(actions.contains(&given_up), slot == 2, "{actions:?}");
        scheduler.handle(seconds(1), Event::Lost(SlotId(slot)));
    }
    assert_eq!(scheduler.unfinished(), 0);
}

#[test]
fn a_biased_device_casts_doubt_on_what_it_did_since_the_last_good_check() {
    let health = HealthPolicy { every: 2, ..HealthPolicy::default() };
    let mut scheduler = Scheduler::new(Policy { health, ..Policy::default() });
    for job in 0..4 {
        scheduler.submit(JobId(job), "run", Priority::Batch).unwrap();
    }
    let (first, _) = lease_in(&admit(&mut scheduler, 0));
    let (second, _) = lease_in(&scheduler.handle(seconds(1), Event::Finished(first)));
    let actions = scheduler.handle(seconds(2), Event::Finished(second));
    // The check does not stop the station from working.
    let [Action::Check { lease, .. }, Action::Lease { lease: third, .. }] = actions[..] else { panic!("{actions:?}") };
    let actions = scheduler.handle(seconds(3), Event::Checked(lease, Ok(BIASED)));
    assert_eq!(actions[..2], [Action::Doubt(JobId(0)), Action::Doubt(JobId(1))]);
    // The queue takes them again.
    scheduler.submit(JobId(0), "run", Priority::Batch).unwrap();
    assert_eq!(scheduler.unfinished(), 3);
    // Running leases end, and no other lease begins.
    assert_eq!(scheduler.handle(seconds(4), Event::Finished(third)), []);
    let actions = scheduler.handle(seconds(40), Event::Tick);
    assert!(matches!(actions[..], [Action::Check { .. }]), "{actions:?}");
}

#[test]
fn silence_and_foreign_machines() {
    let mut scheduler = Scheduler::new(Policy::default());
    scheduler.submit(JobId(1), "run", Priority::Batch).unwrap();
    let (lease, _) = lease_in(&admit(&mut scheduler, 0));
    scheduler.handle(seconds(800), Event::Progress(lease));
    assert_eq!(scheduler.handle(seconds(1000), Event::Tick), []);
    let actions = scheduler.handle(seconds(1701), Event::Tick);
    assert!(matches!(actions[..], [Action::Restart { slot: SlotId(0), .. }]), "{actions:?}");
    // It is asked once.
    assert_eq!(scheduler.handle(seconds(1702), Event::Tick), []);
    scheduler.handle(seconds(1702), Event::Joined(SlotId(1)));
    let foreign = Some("another driver".to_owned());
    let actions = scheduler.handle(seconds(1702), Event::Ready { slot: SlotId(1), capacity: 1, foreign });
    assert!(matches!(actions[..], [Action::SetAside { .. }]), "{actions:?}");
    assert_eq!(scheduler.handle(seconds(99999), Event::Tick), []);
}

#[test]
fn a_station_works_on_as_many_leases_as_it_has_places() {
    let mut scheduler = Scheduler::new(Policy::default());
    for job in 0..5 {
        scheduler.submit(JobId(job), "run", Priority::Batch).unwrap();
    }
    scheduler.handle(Duration::ZERO, Event::Joined(SlotId(0)));
    let event = Event::Ready { slot: SlotId(0), capacity: 3, foreign: None };
    let actions = scheduler.handle(Duration::ZERO, event);
    let [Action::Check { lease, .. }] = actions[..] else { panic!("{actions:?}") };
    let actions = scheduler.handle(Duration::ZERO, Event::Checked(lease, Ok(FIT)));
    assert_eq!(actions.len(), 4);
    assert_eq!((scheduler.counts().leases, scheduler.counts().places), (3, 3));
}

/// In any order of deaths, failures, repeated and late reports, each job is finished once or fails, and no lease is granted
/// twice.
fn storm(steps: &[(u8, u8)], jobs: u64) -> (u64, u64) {
    let health = HealthPolicy { every: 3, ..HealthPolicy::default() };
    let mut scheduler = Scheduler::new(Policy { health, attempts: 4, ..Policy::default() });
    for job in 0..jobs {
        scheduler.submit(JobId(job), "run", Priority::Batch).unwrap();
    }
    let (mut open, mut seen) = (Vec::<(LeaseId, bool)>::new(), BTreeSet::new());
    let (mut given_up, mut now, mut fresh) = (0, Duration::ZERO, 2);
    let mut alive: Vec<SlotId> = Vec::new();
    let mut todo: Vec<Event> = vec![Event::Joined(SlotId(0)), Event::Joined(SlotId(1))];
    let mut steps = steps.iter();
    for _ in 0..20_000 {
        now += Duration::from_secs(5);
        let over = |(lease, check): (LeaseId, bool), result| {
            if check { Event::Checked(lease, Ok(result)) } else { Event::Finished(lease) }
        };
        // The same news may come again, and news of stations that are gone. After the storm each lease ends.
        let event = todo.pop().unwrap_or_else(|| match steps.next() {
            Some((1, pick)) if !alive.is_empty() => Event::Lost(alive[*pick as usize % alive.len()]),
            Some((2, pick)) if !open.is_empty() => {
                Event::Failed(open[*pick as usize % open.len()].0, "failed".to_owned())
            }
            Some((kind, pick)) if !open.is_empty() => {
                over(open[*pick as usize % open.len()], if *kind == 3 { BIASED } else { FIT })
            }
            Some(_) => Event::Tick,
            None => open.pop().map_or(Event::Tick, |lease| over(lease, FIT)),
        });
        match &event {
            Event::Joined(slot) => {
                alive.push(*slot);
                todo.push(Event::Ready { slot: *slot, capacity: 2, foreign: None });
            }
            Event::Lost(slot) => {
                alive.retain(|other| other != slot);
                todo.push(Event::Joined(SlotId(fresh)));
                fresh += 1;
            }
            _ => {}
        }
        for action in scheduler.handle(now, event) {
            match action {
                Action::Lease { slot, lease, .. } | Action::Check { slot, lease } => {
                    assert!(alive.contains(&slot), "{slot:?} is dead");
                    assert!(seen.insert(lease), "{lease:?} is given twice");
                    open.push((lease, matches!(action, Action::Check { .. })));
                }
                Action::Restart { slot, .. } => todo.push(Event::Lost(slot)),
                Action::GiveUp { .. } => given_up += 1,
                Action::Admitted(_) | Action::SetAside { .. } | Action::Doubt(_) => {}
            }
        }
        if scheduler.unfinished() == 0 {
            break;
        }
    }
    assert_eq!(scheduler.unfinished(), 0);
    (scheduler.counts().finished, given_up)
}

proptest! {
    #[test]
    fn nothing_is_lost_or_counted_twice(
        steps in proptest::collection::vec((0_u8..5, any::<u8>()), 0..200),
        jobs in 1_u64..30,
    ) {
        let (finished, given_up) = storm(&steps, jobs);
        prop_assert_eq!(finished + given_up, jobs);
    }
}
