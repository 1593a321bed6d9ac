//! Workloads with ranks, started by a launcher of parallel programs.

use std::process::Command;

use crate::stage::{Running, folder};

fn ended(environment: &[(&str, &str)], words: &str) -> crate::stage::Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    command.args(words.split_whitespace()).envs(environment.iter().copied());
    Running::spawn(command).wait()
}

#[test]
fn ranks_of_a_launcher_are_refused_without_mpi() {
    let folder = folder();
    let directory = folder.path().display();
    let ior = format!("run ior -w -b 1m --no-trace -q --out {directory}/run {directory}");
    for (rank, ranks, launcher) in [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun"),
        ("PMI_RANK", "PMI_SIZE", "mpiexec"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun"),
    ] {
        let first = ended(&[(rank, "0"), (ranks, "4")], &ior);
        assert_eq!((first.code, first.stderr.lines().count()), (Some(2), 1), "{}", first.stderr);
        let says = |what: &str| assert!(first.stderr.contains(what), "{what}: {}", first.stderr);
        [launcher, "4 processes", "make mpi", "--ranks 4"].into_iter().for_each(says);
        let other = ended(&[(rank, "1"), (ranks, "4")], &ior);
        assert_eq!((other.code, other.stderr.as_str()), (Some(2), ""));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
    // One process is no parallel run, and a workload without ranks may be started once a node.
    ended(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")], &ior).expect_code(0);
    let plan = format!("run fsmark --plan {directory}");
    ended(&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")], &plan).expect_code(0);
}
