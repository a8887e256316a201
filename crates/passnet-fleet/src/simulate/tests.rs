use super::*;

fn small() -> Simulation {
    Simulation {
        policy: Policy::default(),
        devices: 8,
        devices_per_node: 4,
        capacity: 2,
        tasks: 400,
        durations: vec![Duration::from_secs(2), Duration::from_secs(4)],
        actions_per_second: 0.0,
        trainers: 4,
        start: Duration::from_secs(10),
        check: Duration::from_secs(1),
        station_mtbf: None,
        node_mtbf: None,
        biased: 0.0,
        seed: 1,
    }
}

#[test]
fn without_faults_all_places_work_until_the_tail() {
    let report = simulate(&small());
    assert_eq!((report.done, report.given_up, report.losses, report.doubted), (400, 0, 0, 0));
    // 400 jobs of 3 s on 16 places, and 11 s before the first.
    assert!((80.0..100.0).contains(&report.makespan_s), "{report:?}");
    assert!(report.utilisation > 0.75 && report.wasted == 0.0, "{report:?}");
    assert_eq!(simulate(&small()), report);
}

#[test]
fn faults_cost_time_and_no_task() {
    let minute = Some(Duration::from_secs(60));
    let policy = Policy { attempts: 100, ..Policy::default() };
    let faults = Simulation { policy, station_mtbf: minute, node_mtbf: minute, biased: 0.1, ..small() };
    let report = simulate(&faults);
    assert_eq!((report.done, report.given_up), (400, 0));
    assert!(report.losses > 10 && report.wasted > 0.0, "{report:?}");
    assert!(report.makespan_s > simulate(&small()).makespan_s);
}

#[test]
fn trainers_do_not_wait_behind_the_run() {
    let report = simulate(&Simulation { actions_per_second: 2.0, ..small() });
    assert!(report.actions > 50 && report.done == 400, "{report:?}");
    // A place is free every 0.2 s on average, and a job of the run is not interrupted.
    assert!(report.action_wait_s.0 < 4.0, "{report:?}");
    assert!(report.most_served_trainer < 1.5, "{report:?}");
}
