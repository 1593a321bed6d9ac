//! A launcher of parallel programs (mpirun, mpiexec, srun), recognized by what it leaves in the environment.

use model::quantity::counted;

use crate::commands::run::request::RunRequest;
use crate::ui::failure::{Exit, Failure};

/// The launcher that started this process as one of several ranks.
#[derive(Debug, PartialEq, Eq)]
struct Launcher {
    name: &'static str,
    rank: u64,
    ranks: u64,
}

/// Launchers: the variables of a process's rank and of the number of ranks.
const LAUNCHERS: [(&str, &str, &str); 4] = [
    ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("mpiexec", "PMI_RANK", "PMI_SIZE"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("srun", "SLURM_PROCID", "SLURM_NTASKS"),
];

impl Launcher {
    /// From the environment; `None` without a launcher, or with one rank.
    fn find(environment: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
        let number = |name: &str| environment(name)?.trim().parse::<u64>().ok();
        let found = |(name, rank, ranks): &(&'static str, &str, &str)| {
            Some(Launcher { name, rank: number(rank)?, ranks: number(ranks)? })
        };
        let launcher = LAUNCHERS.iter().find_map(found)?;
        // A batch script has rank 0 and the allocation's number of tasks, but is no step of its own.
        let is_batch = launcher.name == "srun" && launcher.rank == 0 && environment("SLURM_STEP_NUM_TASKS").is_none();
        (launcher.ranks > 1 && !is_batch).then_some(launcher)
    }
}

/// Whether a launcher started several ranks of a workload that has ranks.
#[cfg(feature = "mpi")]
pub(super) fn started_ranks(request: &RunRequest) -> bool {
    request.recipe.ranks.is_some() && Launcher::find(|name| std::env::var(name).ok()).is_some()
}

/// Refuses a workload whose ranks would each run all of it alone. The first rank says so; `Some`: another one, which
/// exits without a message.
pub(super) fn refuse(request: &RunRequest) -> Result<Option<Exit>, Failure> {
    let Some(variable) = &request.recipe.ranks else { return Ok(None) };
    let Some(Launcher { name, rank, ranks }) = Launcher::find(|name| std::env::var(name).ok()) else {
        return Ok(None);
    };
    if rank > 0 {
        // The launcher may end all ranks as soon as one has failed, before the first has said why.
        std::thread::sleep(std::time::Duration::from_millis(500));
        return Ok(Some(Exit::Usage));
    }
    let workload = &request.recipe.name;
    let flag = request.recipe.variables.iter().find(|known| known.name == *variable).map_or("", |known| &known.flag);
    Err(Failure::usage(format_args!(
        "{name} started {}, and this build has no MPI: each would run all of '{workload}' alone. Build \
         with MPI \
         (`make mpi`, docs/MPI.md); or, on one machine, without {name}: --{flag} {ranks}",
        counted(ranks, "process")
    )))
}

#[cfg(test)]
mod tests {
    use super::Launcher;

    fn find(environment: &[(&str, &str)]) -> Option<(&'static str, u64, u64)> {
        let get = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        Launcher::find(get).map(|found| (found.name, found.rank, found.ranks))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let open_mpi = |ranks| [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", ranks)];
        assert_eq!(find(&open_mpi("4")), Some(("mpirun", 1, 4)));
        assert_eq!(find(&open_mpi("1")), None);
        assert_eq!(find(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]), Some(("mpiexec", 0, 2)));
        assert_eq!(find(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "3")]), Some(("srun", 0, 3)));
        assert_eq!(find(&[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "3")]), Some(("srun", 2, 3)));
        assert_eq!(find(&[("PMI_SIZE", "2"), ("PATH", "/bin")]), None);
    }

    #[test]
    fn a_batch_script_is_one_process() {
        assert_eq!(find(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), None);
    }
}
