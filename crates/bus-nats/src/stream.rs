//! The stream of a log on JetStream: how it must be configured, making it, and what stands in it at a sequence. Must
//! not know when it is asked.
//!
//! A stream of ours keeps everything for ever, in files, in the order of the log. What somebody changed is set back
//! with a warning where the server allows it. What can't be set back and would lose or alter messages is refused;
//! memory instead of files is only warned of, since a lost stream is published again.

use crate::{
    bus::Bus,
    error::BusError,
    message::{Stored, stream_name, subjects},
};
use async_nats::jetstream::{
    self, ErrorCode,
    message::StreamMessage,
    stream::{Config, DiscardPolicy, Info, RawMessage, RetentionPolicy, StorageType},
};
use charter_events::{Hash, LogId, Offset};
use serde::Deserialize;
use std::time::Duration;

/// Where the stream and the log hold different events: two histories under one name. Nothing is published until
/// somebody has looked: the wrong one of the two is removed or renamed, and the stream is published again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the stream `{stream}` holds another event than the log at offset {offset}: two histories have the same name; \
     find out which server wrote it, then delete the stream, and it is published again"
)]
pub struct Fork {
    /// The stream's name.
    pub stream: String,
    /// The first offset known to differ.
    pub offset: Offset,
    /// The log's hash there; `None` when the log ends before it.
    pub expected: Option<Hash>,
    /// The stream's hash there; `None` when what it holds is no event of ours.
    pub found: Option<Hash>,
}

/// The stream of one log.
#[derive(Debug, Clone)]
pub(crate) struct LogStream {
    bus: Bus,
    name: String,
    log_id: LogId,
    duplicate_window: Duration,
}

#[derive(Deserialize)]
struct Found {
    message: RawMessage,
}

impl LogStream {
    pub(crate) fn new(bus: Bus, log_id: LogId, duplicate_window: Duration) -> Self {
        Self { bus, name: stream_name(log_id), log_id, duplicate_window }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What the stream is; `None` when there is none.
    pub(crate) async fn info(&self) -> Result<Option<Info>, BusError> {
        match self.bus.api::<Info>(&format!("STREAM.INFO.{}", self.name), &()).await? {
            Ok(info) => Ok(Some(info)),
            Err(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
            Err(error) => Err(self.refused("to describe", &error)),
        }
    }

    /// The stream, made when there is none, and set right where it was changed.
    pub(crate) async fn ensure(&self) -> Result<Info, BusError> {
        let Some(info) = self.info().await? else { return self.create().await };
        let wanted = self.corrected(&info.config);
        let info = if wanted == info.config { info } else { self.correct(info.config, &wanted).await? };
        self.fit(&info.config)?;
        Ok(info)
    }

    /// What stands at a sequence; `None` when nothing does.
    pub(crate) async fn stored(&self, sequence: u64) -> Result<Option<Stored>, BusError> {
        let asked = serde_json::json!({ "seq": sequence });
        let answer = self.bus.api::<Found>(&format!("STREAM.MSG.GET.{}", self.name), &asked).await?;
        match answer {
            Ok(found) => {
                let message = StreamMessage::try_from(found.message);
                // headers that can't be read are not ours
                Ok(Some(message.map_or(Stored { id: None, hash: None }, |m| Stored::read(&m.headers))))
            }
            Err(error) if error.error_code() == ErrorCode::NO_MESSAGE_FOUND => Ok(None),
            Err(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
            Err(error) => Err(self.refused("to read a message of", &error)),
        }
    }

    async fn create(&self) -> Result<Info, BusError> {
        let answer = self.bus.api::<Info>(&format!("STREAM.CREATE.{}", self.name), &self.config()).await?;
        match answer {
            Ok(info) => {
                tracing::info!(
                    stream = self.name,
                    "the stream was made; the log is published from its beginning"
                );
                Ok(info)
            }
            Err(error) if error.error_code() == ErrorCode::STREAM_SUBJECT_OVERLAP => {
                Err(self.unfit(format!(
                    "another stream holds subjects of `{}`; take them out of its configuration",
                    subjects(self.log_id)
                )))
            }
            Err(error) => Err(self.refused("to make", &error)),
        }
    }

    async fn correct(&self, found: Config, wanted: &Config) -> Result<Info, BusError> {
        let changed = changes(&found, wanted).join(", ");
        let answer = self.bus.api::<Info>(&format!("STREAM.UPDATE.{}", self.name), wanted).await?;
        match answer {
            Ok(info) => {
                tracing::warn!(
                    stream = self.name,
                    changed,
                    "the stream was configured differently and has been set back"
                );
                Ok(info)
            }
            Err(error) => Err(self.unfit(format!(
                "its {changed} can't be set back ({error}); delete the stream, and it is made again as it must be"
            ))),
        }
    }

    /// How a new stream is made.
    fn config(&self) -> Config {
        let config = Config { name: self.name.clone(), ..Config::default() };
        Config {
            description: Some("The log of a Charter installation. The sequence is the offset.".to_owned()),
            storage: StorageType::File,
            retention: RetentionPolicy::Limits,
            first_sequence: Some(1),
            num_replicas: self.bus.replicas(),
            ..self.corrected(&config)
        }
    }

    /// The configuration with everything that may be changed later as it must be. Replicas, placement, compression
    /// and what else does not touch the messages are the operator's.
    fn corrected(&self, found: &Config) -> Config {
        Config {
            subjects: vec![subjects(self.log_id)],
            max_bytes: -1,
            max_messages: -1,
            max_messages_per_subject: -1,
            max_message_size: -1,
            max_consumers: -1,
            max_age: Duration::ZERO,
            discard: DiscardPolicy::Old,
            discard_new_per_subject: false,
            no_ack: false,
            duplicate_window: self.duplicate_window,
            allow_rollup: false,
            deny_delete: true,
            deny_purge: true,
            subject_transform: None,
            sources: None,
            ..found.clone()
        }
    }

    /// Refuses what can't be set back and would lose or alter messages.
    fn fit(&self, config: &Config) -> Result<(), BusError> {
        let again = "; delete the stream, and it is made again as it must be";
        let fault = if config.sealed {
            "it is sealed"
        } else if config.mirror.is_some() {
            "it mirrors another stream"
        } else if config.retention != RetentionPolicy::Limits {
            "it forgets what was read (its retention is not `limits`)"
        } else {
            if config.storage != StorageType::File {
                tracing::warn!(
                    stream = self.name,
                    "the stream is kept in memory: it is lost when its server stops"
                );
            }
            return Ok(());
        };
        Err(self.unfit(format!("{fault}{again}")))
    }

    fn unfit(&self, why: String) -> BusError {
        BusError::Stream { stream: self.name.clone(), why }
    }

    fn refused(&self, what: &str, error: &jetstream::Error) -> BusError {
        self.bus.refused(format!("{what} the stream `{}`", self.name), error)
    }
}

/// The names of the members that differ, as the server calls them.
fn changes(found: &Config, wanted: &Config) -> Vec<String> {
    let members = |config: &Config| match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    let (found, wanted) = (members(found), members(wanted));
    let mut names: Vec<String> =
        wanted.iter().filter(|(n, v)| found.get(*n) != Some(v)).map(|(n, _)| n.clone()).collect();
    names.extend(found.keys().filter(|name| !wanted.contains_key(*name)).cloned());
    names.sort_unstable();
    names
}
