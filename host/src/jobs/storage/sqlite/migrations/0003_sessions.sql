-- MCP sessions over HTTP. The key is a digest of the session's id, `initialize` and `replay` are JSON.
CREATE TABLE http_session (
    key TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    initialize TEXT NOT NULL,
    replay TEXT NOT NULL,
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX http_session_used ON http_session (used);
