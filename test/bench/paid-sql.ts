import { createHash, randomUUID } from "node:crypto";
import { PAID_CALL } from "./http-request.ts";

/** Owner of the runs authorized here. */
const INSTANCE = randomUUID();
const LEASE = "interval '15 seconds'";
const PRICE = 1000;
const FINGERPRINT = createHash("sha256").update(JSON.stringify(PAID_CALL)).digest("hex");

// pgbench reads a colon followed by a word as a variable, so every colon is followed by a space.
const CALL =
  `[{"n": 1, "account_id": "00000000-0000-7000-8000-%s", "run_id": "%s", "tool": "vram_estimate", ` +
  `"fingerprint": "\\\\x${FINGERPRINT}", "price": "${PRICE}", "keyed": false}]`;
const ENDING = `[{"n": 1, "run_id": "%s", "outcome": "completed", "receipt_id": "%s"}]`;
/**
 * Authorizes one call, as a batch of one.
 * @param account placeholder of the account number
 * @returns SQL that returns `run`, the run's identifier
 */
export function AUTHORIZE(account: string): string {
  return `select fresh.run from (select uuidv7() as run offset 0) fresh,
    lateral ledger_authorize(array(select call
    from json_populate_recordset(null::ledger_call, format('${CALL}', lpad((${account})::text, 12,
    '0'), fresh.run)::json) call), '${INSTANCE}', ${LEASE}) authorized where authorized.kind = 'started'`;
}

/** Captures the call without storing its result. @param run placeholder of the run's identifier */
export function CAPTURE(run: string): string {
  return `select finished.kind from ledger_end(array(select ending
    from json_populate_recordset(null::ledger_ending, format('${ENDING}', (${run})::text,
    uuidv7())::json) ending), array[null]::json[], '${INSTANCE}') finished`;
}

/** Writes a tiny row, and commits: half of the least that a paid call can be. */
export const COMMIT = "insert into tiny default values";
