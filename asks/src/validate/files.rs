//! `files`: one or several files.

use serde_json::Value;

use super::data_url::DataUrl;
use super::report::Report;
use super::shape::{Fields, Need, Texts, duplicates, each, word_of};
use crate::errors::{Code, Path};
use crate::input::{Accept, Files, count};
use crate::limits::{self, Range};
use crate::text;

const KEYS: [&str; 7] = ["prompt", "title", "submitLabel", "allowDecline", "accept", "minFiles", "maxFiles"];
const FILE_KEYS: [&str; 5] = ["fileId", "url", "filename", "mimeType", "size"];

/// Each value by itself.
pub(super) fn shape(input: &Value, report: &mut Report) -> Option<Files> {
    let fields = Fields::strict(input, Path::root(), &KEYS, report)?;
    let question = fields.question_with_submit(report);
    let accept = fields.list("accept", Need::Required, limits::ACCEPT, report).and_then(|items| {
        let words = Accept::ALL.map(|accept| (accept.as_str(), accept));
        each(items, &fields.path("accept"), |item, path| word_of(item, path, &words, report))
    });
    let min = fields.whole("minFiles", Need::Optional, limits::FILES, report);
    let max = fields.whole("maxFiles", Need::Optional, limits::FILES, report);
    let count = Range::new(min.unwrap_or(limits::FILES.min), max.unwrap_or(limits::FILES.max));
    Some(Files { question: question?, accept: accept?, count })
}

/// The values with each other.
pub(super) fn rules(ask: &Files, report: &mut Report) {
    let root = Path::root();
    duplicates(ask.accept.iter().map(|accept| accept.as_str()), |index| root.key("accept").index(index), report);
    let Range { min, max } = ask.count;
    if min > max {
        let message = format!("At least {min} files are wanted, but at most {max} are allowed.");
        report.add(&root.key("minFiles"), Code::RangeInvalid, message, format!("Use at most {max}."));
    }
}

/// One file of an answer.
struct File<'a> {
    path: Path,
    mime_type: &'a str,
    size: i64,
    data: Option<DataUrl>,
}

/// The content of an answer. `max_size` is the host's cap per file in bytes.
pub(super) fn answer(ask: &Files, content: &Value, max_size: u64, path: &Path, report: &mut Report) {
    let Some(fields) = Fields::strict(content, path.clone(), &["files"], report) else { return };
    let Some(items) = fields.any_list("files", Need::Required, report) else { return };
    let files = each(items, &fields.path("files"), |item, path| file(item, path, report));
    let Some(files) = files.filter(|_| report.is_empty()) else { return };

    if !ask.count.holds(count(files.len())) {
        let Range { min, max } = ask.count;
        let message = format!("{} files sent; this ask takes {min} to {max}.", files.len());
        report.add(&fields.path("files"), Code::FileCount, message, format!("Send {min} to {max} files."));
    }
    for file in &files {
        file_fits(ask, file, max_size, report);
    }
}

/// The shape of one file: exactly one reference, and what is declared about it.
fn file<'a>(item: &'a Value, path: &Path, report: &mut Report) -> Option<File<'a>> {
    let fields = Fields::strict(item, path.clone(), &FILE_KEYS, report)?;
    let filename = fields.text("filename", Need::Required, Texts::Visible(limits::FILENAME), report);
    let mime_type = fields.text("mimeType", Need::Required, Texts::Filled(limits::MIME_TYPE), report);
    let size = fields.whole("size", Need::Required, Range::new(0, limits::SAFE_INTEGER), report);
    let file_id = fields.text("fileId", Need::Optional, Texts::Filled(limits::FILE_ID), report);
    let url = fields.text("url", Need::Optional, Texts::Any, report);
    let data = url.and_then(DataUrl::read);

    let url_path = fields.path("url");
    if url.is_some() && data.is_none() {
        let message = "url is not a base64 data URL.";
        report.add(&url_path, Code::InvalidFormat, message, "Send \"data:<type>;base64,<bytes>\"; no URL is fetched.");
    }
    if url.is_some() && file_id.is_some() {
        let message = "A file has both fileId and url.";
        report.add(&url_path, Code::InvalidFormat, message, "Send exactly one of them.");
    }
    filename?;
    let file = File { path: path.clone(), mime_type: mime_type?, size: size?, data };
    if !fields.entries().contains_key("url") && !fields.entries().contains_key("fileId") {
        let message = "A file has neither fileId nor url.";
        report.add(fields.root(), Code::MissingRequired, message, "Send exactly one of them.");
    }
    Some(file)
}

fn file_fits(ask: &Files, file: &File<'_>, max_size: u64, report: &mut Report) {
    if !ask.accept.iter().any(|accept| accept.mime_types().contains(&file.mime_type)) {
        let accepted: Vec<&str> = ask.accept.iter().flat_map(|accept| accept.mime_types()).copied().collect();
        let message = format!("{} is not accepted here.", text::quote(file.mime_type));
        let fix = format!("Send one of {}.", accepted.join(", "));
        report.add(&file.path.key("mimeType"), Code::FileTypeNotAccepted, message, fix);
    }
    let declared = u64::try_from(file.size).unwrap_or(0);
    let size = file.data.as_ref().map_or(declared, |data| declared.max(data.size));
    if size > max_size {
        too_large(size, max_size, &file.path, report);
    }
    if let Some(data) = file.data.as_ref().filter(|data| data.media_type != file.mime_type) {
        let declared = text::quote(file.mime_type);
        let message = format!("url holds {}, but mimeType says {declared}.", text::quote(&data.media_type));
        report.add(&file.path.key("url"), Code::MimeMismatch, message, "Declare the type that is sent.");
    }
}

/// Reports a file over the cap. `path` is the file's.
pub(super) fn too_large(size: u64, max: u64, path: &Path, report: &mut Report) {
    let message = format!("The file has {size} bytes; at most {max} are allowed.");
    report.add(&path.key("size"), Code::FileTooLarge, message, "Send a smaller file.");
}
