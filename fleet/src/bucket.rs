//! A lake below a prefix of a bucket. Credentials come from the environment alone; they are never stored, and never
//! printed.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::Schema;
use datafusion::prelude::SessionContext;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig};
use tokio::task::JoinSet;
use url::Url;

use crate::error::FleetError;
use crate::footer::schema_of;

/// One of these names where credentials come from.
const CREDENTIALS: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];
/// A store that does not answer is an error after this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A prefix of a bucket.
#[derive(Clone)]
pub(crate) struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// `s3://BUCKET`.
    url: Url,
    prefix: Path,
}

impl Bucket {
    /// Of `s3://BUCKET/PREFIX`, with credentials, region and endpoint of the environment.
    pub(crate) fn of(text: &str) -> Result<Bucket, FleetError> {
        let (bucket, prefix) = parts(text)?;
        if !CREDENTIALS.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty())) {
            return Err(FleetError::NoCredentials { url: text.to_owned() });
        }
        // Who names an endpoint without TLS wants that one.
        let is_plain = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"]
            .iter()
            .any(|name| env::var(name).is_ok_and(|endpoint| endpoint.starts_with("http://")));
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(&bucket);
        if is_plain {
            builder = builder.with_allow_http(true);
        }
        let retry = RetryConfig { max_retries: 3, retry_timeout: PATIENCE, ..RetryConfig::default() };
        let store = builder.with_retry(retry).build().map_err(FleetError::store(text, "be used"))?;
        let url = Url::parse(&format!("s3://{bucket}")).map_err(|error| wrong(text, &error.to_string()))?;
        Ok(Bucket { store: Arc::new(store), url, prefix })
    }

    /// As a person writes it.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.url.as_str().trim_end_matches('/'), self.prefix)
    }

    /// The full name of an object below the prefix.
    pub(crate) fn object(&self, below: &str) -> String {
        format!("{}/{below}", self.name().trim_end_matches('/'))
    }

    fn path(&self, below: &str) -> Result<Path, FleetError> {
        let whole = format!("{}/{below}", self.prefix);
        Path::parse(&whole).map_err(|error| wrong(&self.object(below), &error.to_string()))
    }

    /// An object; `None` where there is none.
    pub(crate) async fn bytes(&self, below: &str) -> Result<Option<bytes::Bytes>, FleetError> {
        let path = self.path(below)?;
        let got = match self.store.get(&path).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => Err(error),
            Ok(found) => found.bytes().await,
        };
        got.map(Some).map_err(FleetError::store(&self.object(below), "be read"))
    }

    /// An object as text.
    pub(crate) async fn text(&self, below: &str) -> Result<Option<String>, FleetError> {
        Ok(self.bytes(below).await?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Writes an object, whole or not at all. `false`: it exists and `only_new` is set.
    pub(crate) async fn put(&self, below: &str, bytes: Vec<u8>, only_new: bool) -> Result<bool, FleetError> {
        let mode = if only_new { PutMode::Create } else { PutMode::Overwrite };
        match self.store.put_opts(&self.path(below)?, PutPayload::from(bytes), mode.into()).await {
            Err(object_store::Error::AlreadyExists { .. }) if only_new => Ok(false),
            done => done.map(|_| true).map_err(FleetError::store(&self.object(below), "be written")),
        }
    }

    /// Names of folders and objects directly below a folder.
    pub(crate) async fn list(&self, below: &str) -> Result<(Vec<String>, Vec<String>), FleetError> {
        let listed = self.store.list_with_delimiter(Some(&self.path(below)?)).await;
        let listed = listed.map_err(FleetError::store(&self.object(below), "be listed"))?;
        let last = |path: &Path| path.filename().map(str::to_owned);
        let folders = listed.common_prefixes.iter().filter_map(last).collect();
        Ok((folders, listed.objects.iter().filter_map(|object| last(&object.location)).collect()))
    }

    /// Schemas of one object per day. Days are asked at the same time: each costs round trips.
    pub(crate) async fn schemas(&self, table: &str) -> Result<Vec<Schema>, FleetError> {
        let folder = format!("table={table}");
        let mut asked = JoinSet::new();
        for day in self.list(&folder).await?.0 {
            let (bucket, day) = (self.clone(), format!("{folder}/{day}"));
            asked.spawn(async move { bucket.schema_of_day(&day).await });
        }
        let mut schemas = Vec::new();
        while let Some(answer) = asked.join_next().await {
            let answer = answer.map_err(|error| datafusion::error::DataFusionError::ExecutionJoin(Box::new(error)))?;
            schemas.extend(answer?);
        }
        Ok(schemas)
    }

    async fn schema_of_day(&self, day: &str) -> Result<Option<Schema>, FleetError> {
        for host in self.list(day).await?.0 {
            let host = format!("{day}/{host}");
            if let Some(file) = self.list(&host).await?.1.into_iter().find(|name| name.ends_with(".parquet")) {
                let file = format!("{host}/{file}");
                // Gone since it was listed: another of the day will do.
                let Some(bytes) = self.bytes(&file).await? else { continue };
                return Ok(Some(schema_of(&bytes, &self.object(&file))?));
            }
        }
        Ok(None)
    }

    /// Makes the store known to the engine, and returns where the table is.
    pub(crate) fn register(&self, context: &SessionContext, table: &str) -> Result<Url, FleetError> {
        context.register_object_store(&self.url, Arc::clone(&self.store));
        let text = format!("{}/", self.object(&format!("table={table}")));
        Url::parse(&text).map_err(|error| wrong(&text, &error.to_string()))
    }
}

fn wrong(url: &str, problem: &str) -> FleetError {
    FleetError::Value { flag: "LAKE", value: url.to_owned(), problem: problem.to_owned() }
}

/// Bucket and prefix.
fn parts(text: &str) -> Result<(String, Path), FleetError> {
    // Not repeated: what is before an '@' may be a secret.
    if text.contains('@') {
        return Err(wrong("s3://", "credentials belong into the environment, not into the URL"));
    }
    let url = Url::parse(text).map_err(|error| wrong(text, &error.to_string()))?;
    let bucket = url.host_str().filter(|_| url.query().is_none() && url.fragment().is_none() && url.port().is_none());
    let bucket = bucket.ok_or_else(|| wrong(text, "write it as s3://BUCKET or s3://BUCKET/PREFIX"))?;
    let prefix = text.splitn(4, '/').nth(3).unwrap_or_default().trim_end_matches('/');
    Ok((bucket.to_owned(), Path::parse(prefix).map_err(|error| wrong(text, &error.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn urls_are_taken_apart_and_secrets_in_them_are_not_repeated() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = parts(text);
            let found = found.as_ref().ok().map(|(bucket, prefix)| (bucket.as_str(), prefix.as_ref()));
            assert_eq!(found, expected, "{text}");
        };
        check("s3://fleet", Some(("fleet", "")));
        check("s3://fleet/", Some(("fleet", "")));
        check("s3://fleet/lakes/a b/", Some(("fleet", "lakes/a b")));
        check("s3://", None);
        check("s3://fleet/a//b", None);
        check("s3://fleet/a?versionId=1", None);
        let error = parts("s3://key:secret@fleet/a").unwrap_err().to_string();
        assert!(error.contains("environment") && !error.contains("secret") && !error.contains("key:"), "{error}");
    }
}
