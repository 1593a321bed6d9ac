//! Where a lake is: a directory of this machine, or below a prefix of a bucket.

use std::fs;
use std::path::{Path, PathBuf};

use datafusion::arrow::datatypes::Schema;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::prelude::SessionContext;
use url::Url;

use crate::bucket::Bucket;
use crate::error::FleetError;
use crate::footer::schema_of;
use crate::marker::{MARKER, check};

/// Where a lake is.
pub(crate) enum Place {
    /// A directory.
    Directory(PathBuf),
    /// Objects of S3 or a store with its protocol.
    Bucket(Bucket),
}

impl Place {
    /// Of an argument: `s3://BUCKET/PREFIX`, else a directory.
    pub(crate) fn of(argument: &Path) -> Result<Place, FleetError> {
        match argument.to_str().filter(|text| text.starts_with("s3://")) {
            Some(url) => Ok(Place::Bucket(Bucket::of(url)?)),
            None => Ok(Place::Directory(argument.to_owned())),
        }
    }

    /// As a person wrote it.
    pub(crate) fn name(&self) -> PathBuf {
        match self {
            Place::Directory(path) => path.clone(),
            Place::Bucket(bucket) => bucket.name().into(),
        }
    }

    /// Refuses what is no lake of this program's version.
    pub(crate) async fn check(&self) -> Result<(), FleetError> {
        let name = self.name();
        let text = match self {
            Place::Directory(path) => {
                let marker = path.join(MARKER);
                let is_there = marker.is_file();
                is_there.then(|| fs::read_to_string(&marker).map_err(FleetError::io(&marker, "read"))).transpose()?
            }
            Place::Bucket(bucket) => bucket.text(MARKER).await?,
        };
        check(&name, &text.ok_or(FleetError::NoLake { path: name.clone() })?)
    }

    /// Schemas of one file per day: asking all files costs more than the questions do.
    pub(crate) async fn schemas(&self, table: &str) -> Result<Vec<Schema>, FleetError> {
        match self {
            Place::Directory(path) => {
                let days = folders(&path.join(format!("table={table}")))?;
                let files = days.iter().filter_map(|day| first_file(day).transpose());
                files.map(|file| schema_of_file(&file?)).collect()
            }
            Place::Bucket(bucket) => bucket.schemas(table).await,
        }
    }

    /// Where the engine finds a table, which may need a store that it does not know.
    pub(crate) fn table(&self, context: &SessionContext, table: &str) -> Result<ListingTableUrl, FleetError> {
        let url = match self {
            Place::Directory(path) => {
                let folder = path.join(format!("table={table}"));
                let absolute = std::path::absolute(&folder).map_err(FleetError::io(&folder, "find"))?;
                Url::from_directory_path(&absolute).map_err(|()| FleetError::NoLake { path: path.clone() })?
            }
            Place::Bucket(bucket) => bucket.register(context, table)?,
        };
        Ok(ListingTableUrl::try_new(url, None)?)
    }
}

fn schema_of_file(file: &Path) -> Result<Schema, FleetError> {
    let opened = fs::File::open(file).map_err(FleetError::io(file, "open"))?;
    schema_of(&opened, &file.display().to_string())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, FleetError> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.is_dir());
    Ok(paths)
}

/// A Parquet file of a day: the first of its first host that has one.
fn first_file(day: &Path) -> Result<Option<PathBuf>, FleetError> {
    for host in folders(day)? {
        let files = entries(&host)?;
        if let Some(file) = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "parquet")) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// What is in a directory, by name; nothing if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, FleetError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(FleetError::io(folder, "list"))?,
    };
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(FleetError::io(folder, "list"))?;
    paths.sort();
    Ok(paths)
}
