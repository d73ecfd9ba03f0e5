-- Permissions that were used. One that can no longer be used is forgotten.
CREATE TABLE used_approval (
    id TEXT PRIMARY KEY,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
