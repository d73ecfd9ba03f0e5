-- Simulated calls are kept apart from real money. Only nullable columns are added, so that processes of the version before,
-- which may still run, can store the results of their jobs. A simulated call is marked by 1, any other by NULL.
ALTER TABLE job ADD COLUMN simulated INTEGER;
ALTER TABLE ledger ADD COLUMN simulated INTEGER;
-- The sums of simulated calls are rows of their own: the tool's name is followed by ' (simulated)'.
ALTER TABLE spend ADD COLUMN simulated INTEGER;
-- The job that waits for a slot, so that its slot can be given to another when it ends first.
ALTER TABLE slot ADD COLUMN job TEXT;

-- Costs that no call can have (above $1,000, or negative) came from replies that lied. They are unknown, and the sums
-- that they broke are made again from the entries.
UPDATE job SET cost = NULL WHERE cost NOT BETWEEN 0 AND 1000000000;
UPDATE spend SET
    settled = (SELECT coalesce(sum(cost), 0) FROM ledger
        WHERE ledger.day = spend.day AND ledger.tool = spend.tool AND status = 'settled' AND cost BETWEEN 0 AND 1000000000),
    unknown_calls = unknown_calls + (SELECT count(*) FROM ledger
        WHERE ledger.day = spend.day AND ledger.tool = spend.tool AND status = 'settled' AND cost NOT BETWEEN 0 AND 1000000000),
    unknown = unknown + (SELECT coalesce(sum(reserved), 0) FROM ledger
        WHERE ledger.day = spend.day AND ledger.tool = spend.tool AND status = 'settled' AND cost NOT BETWEEN 0 AND 1000000000)
WHERE EXISTS (SELECT 1 FROM ledger
    WHERE ledger.day = spend.day AND ledger.tool = spend.tool AND status = 'settled' AND cost NOT BETWEEN 0 AND 1000000000);
UPDATE ledger SET status = 'unknown', cost = NULL WHERE status = 'settled' AND cost NOT BETWEEN 0 AND 1000000000;
