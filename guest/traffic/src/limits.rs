//! Named limits, each with its reason.

/// Bytes of one message body that an import keeps. Larger bodies are downloads, which nobody reads through a model;
/// what is beyond is cut and reported.
pub const BODY: u32 = 8 << 20;

/// Bytes of one HAR entry outside of its body, or of one field of a Burp item that is no message.
/// The largest heads that servers accept are 1 MiB.
pub const ITEM: u32 = 4 << 20;

/// JSON values in one HAR entry: each takes some 60 bytes in memory and as few as 2 in the file. A browser's largest entries
/// (call stacks of an initiator) have some tens of thousands.
pub const VALUES: u32 = 200_000;

/// Items in one file. More than a million exchanges fill any store that a person can use.
pub const ITEMS: u64 = 1_000_000;

/// Bytes that a body may have after decoding.
pub const DECODED: u32 = 8 << 20;

/// How many times larger than its encoded form a body may become, once it is larger than `RATIO_FROM`.
/// Real text reaches about 30; repeated markup at times 100.
pub const RATIO: u32 = 200;

/// Decoded bytes up to which the ratio is not looked at: small bodies of one repeated byte are harmless.
pub const RATIO_FROM: u32 = 256 << 10;

/// Content codings of one body. Two are rare, four occur in attacks only.
pub const CODINGS: usize = 3;

/// Window of a zstd frame: the most that RFC 9659 allows in HTTP.
pub const ZSTD_WINDOW: u64 = 8 << 20;

/// Bytes of a message head. Servers refuse more than some 100 KiB.
pub const HEAD: usize = 1 << 20;

/// Header lines that are looked at in one head.
pub const HEADERS: usize = 4096;

/// Depth of nested JSON that is followed.
pub const DEPTH: usize = 128;

/// Parameters that are listed of one request.
pub const PARAMETERS: usize = 10_000;
