-- Jobs, their outcomes, the money, the limiter's clock. Times are milliseconds since the epoch, money is
-- micro-dollars, days are UTC days since the epoch.

-- One row: the source of revisions, so that a watcher can ask what changed since it last looked.
CREATE TABLE revision (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL) STRICT;
INSERT INTO revision VALUES (1, 0);

CREATE TABLE job (
    id TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    tool TEXT NOT NULL,
    mode TEXT NOT NULL,
    query TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    listed INTEGER NOT NULL,
    state TEXT NOT NULL,
    created INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    sent INTEGER,
    cancel INTEGER,
    capture TEXT,
    progress TEXT,
    reserved INTEGER NOT NULL,
    cost INTEGER,
    error_kind TEXT,
    error_message TEXT,
    whole INTEGER NOT NULL DEFAULT 0,
    note TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX job_revision ON job (revision);
-- What is alive is little, however much is stored.
CREATE INDEX job_active ON job (fingerprint) WHERE ended IS NULL;
CREATE INDEX job_ended ON job (ended) WHERE ended IS NOT NULL;
CREATE INDEX job_created ON job (created);
CREATE INDEX job_listed ON job (listed, created);
CREATE INDEX job_state ON job (state, created);
CREATE INDEX job_state_listed ON job (state, listed, created);

-- What is large or private to the owner, apart from the rows that lists scan.
CREATE TABLE payload (
    id TEXT PRIMARY KEY,
    payload TEXT NOT NULL,
    head TEXT
) STRICT;

-- What came of it, in the forms that the component wrote.
CREATE TABLE outcome (
    id TEXT PRIMARY KEY,
    json TEXT NOT NULL,
    markdown TEXT NOT NULL,
    plain TEXT NOT NULL
) STRICT;

-- Ids of removed jobs, so that an expired one is told from one that never was.
CREATE TABLE tombstone (id TEXT PRIMARY KEY, removed INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_removed ON tombstone (removed);

-- One entry a call; it outlives the job.
CREATE TABLE ledger (
    id TEXT PRIMARY KEY,
    day INTEGER NOT NULL,
    tool TEXT NOT NULL,
    reserved INTEGER NOT NULL,
    -- 'open', 'settled' or 'unknown'.
    status TEXT NOT NULL,
    cost INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_day ON ledger (day);

-- The ledger's sums, kept in the same transactions, so that a budget is checked without adding up.
CREATE TABLE spend (
    day INTEGER NOT NULL,
    tool TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL DEFAULT 0,
    unknown_calls INTEGER NOT NULL DEFAULT 0,
    unknown INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, tool)
) STRICT, WITHOUT ROWID;

-- The slots that the limiter gave and that may still matter, and when the last was asked for.
CREATE TABLE slot (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, asked INTEGER NOT NULL) STRICT;
