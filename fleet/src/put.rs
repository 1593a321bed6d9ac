//! `put`: runs of a directory's lake into a bucket's.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use crate::bucket::Bucket;
use crate::cli::PutArgs;
use crate::error::FleetError;
use crate::footer::holds;
use crate::marker::{MARKER, check, new_marker};
use crate::place::{Place, entries};

/// How names of files begin that hold several runs.
const COMPACTED: &str = "compacted-";
const TABLES: [&str; 3] = ["stalls", "intervals", "counters"];

/// A run of the directory's lake: its file in `runs`, and those in the other tables, by path below the lake.
struct RunFiles {
    name: String,
    /// `table=runs/date=DATE/host=HOST`.
    partition: String,
    rows: Vec<String>,
}

/// Puts the runs that the bucket lacks there. Each object is written whole, the row in `runs` last.
pub(crate) async fn put(args: &PutArgs) -> Result<String, FleetError> {
    let from = Place::Directory(args.lake.clone());
    from.check().await?;
    let Place::Bucket(bucket) = Place::of(&args.to)? else {
        let to = args.to.display().to_string();
        return Err(FleetError::value("--to", &to, "is a directory; 'stallscope lake add' writes there itself"));
    };
    let runs = runs(&args.lake)?;
    sign(&bucket).await?;
    let mut text = String::new();
    for run in &runs {
        if has(&bucket, run).await? {
            text += &format!("{} is already in the lake\n", run.name);
            continue;
        }
        let bytes = upload(&args.lake, &bucket, run).await?;
        text += &format!("{}: {} objects, {bytes} bytes\n", run.name, run.rows.len() + 1);
    }
    Ok(if args.quiet { String::new() } else { text })
}

/// Makes a lake of an empty prefix; refuses one that holds something else, or a lake of another version.
async fn sign(bucket: &Bucket) -> Result<(), FleetError> {
    let name = PathBuf::from(bucket.name());
    if let Some(text) = bucket.text(MARKER).await? {
        return check(&name, &text);
    }
    let (folders, objects) = bucket.list("").await?;
    // Another writer may have signed it since.
    let is_empty = folders.is_empty() && objects.is_empty();
    if !is_empty && !objects.iter().any(|object| object == MARKER) {
        return Err(FleetError::Foreign { path: name });
    }
    bucket.put(MARKER, new_marker().into_bytes(), true).await?;
    check(&name, &bucket.text(MARKER).await?.unwrap_or_default())
}

/// Whether the bucket has a run, in a file of its own or in one that a compacted lake was copied with.
async fn has(bucket: &Bucket, run: &RunFiles) -> Result<bool, FleetError> {
    let objects = bucket.list(&run.partition).await?.1;
    if objects.contains(&format!("{}.parquet", run.name)) {
        return Ok(true);
    }
    for object in objects.iter().filter(|object| object.starts_with(COMPACTED)) {
        let below = format!("{}/{object}", run.partition);
        if let Some(bytes) = bucket.bytes(&below).await?
            && holds(bytes, &bucket.object(&below), &run.name)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes a run's objects at the same time, and when they are there its row in `runs`. Returns their size.
async fn upload(lake: &Path, bucket: &Bucket, run: &RunFiles) -> Result<usize, FleetError> {
    let mut sent = JoinSet::new();
    let mut size = 0;
    for below in &run.rows {
        let (bytes, bucket, below) = (read(lake, below)?, bucket.clone(), below.clone());
        size += bytes.len();
        sent.spawn(async move { bucket.put(&below, bytes, false).await });
    }
    while let Some(done) = sent.join_next().await {
        done.map_err(|error| datafusion::error::DataFusionError::ExecutionJoin(Box::new(error)))??;
    }
    let below = format!("{}/{}.parquet", run.partition, run.name);
    let bytes = read(lake, &below)?;
    size += bytes.len();
    bucket.put(&below, bytes, false).await?;
    Ok(size)
}

fn read(lake: &Path, below: &str) -> Result<Vec<u8>, FleetError> {
    let path = lake.join(below);
    fs::read(&path).map_err(FleetError::io(&path, "read"))
}

/// The runs of a directory's lake.
fn runs(lake: &Path) -> Result<Vec<RunFiles>, FleetError> {
    let mut runs = Vec::new();
    for file in files(lake, "runs")? {
        let (partition, name) = file.rsplit_once('/').unwrap_or_default();
        if name.starts_with(COMPACTED) {
            let problem =
                "is compacted, and only separate runs can be put into a bucket; put them before 'lake compact'";
            return Err(FleetError::value("LAKE", &lake.display().to_string(), problem));
        }
        let name = name.trim_end_matches(".parquet").to_owned();
        runs.push(RunFiles { name, partition: partition.to_owned(), rows: Vec::new() });
    }
    for table in TABLES {
        for file in files(lake, table)? {
            let (folder, name) = file.rsplit_once('/').unwrap_or_default();
            let host = folder.rsplit('/').next();
            let of = |run: &&mut RunFiles| {
                name.trim_end_matches(".parquet") == run.name && run.partition.rsplit('/').next() == host
            };
            if let Some(run) = runs.iter_mut().find(of) {
                run.rows.push(file);
            }
        }
    }
    Ok(runs)
}

/// Files of a table, by path below the lake.
fn files(lake: &Path, table: &str) -> Result<Vec<String>, FleetError> {
    let mut found = Vec::new();
    for day in entries(&lake.join(format!("table={table}")))? {
        for host in entries(&day)? {
            for file in entries(&host)? {
                let below = file.strip_prefix(lake).ok().and_then(Path::to_str);
                found.extend(below.filter(|below| below.ends_with(".parquet")).map(str::to_owned));
            }
        }
    }
    Ok(found)
}
