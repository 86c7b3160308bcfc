import type { Pool } from "pg";
import type { SealedBodies, SealedBody } from "../../domain/accounts/sealed-bodies.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid } from "../database/row-mapping.ts";

/** The sealed secrets of an endpoint. */
export interface SecretsRow {
  id: string;
  account_id: string;
  key_version: number;
  secret: Buffer;
  /** Null unless the old secret signs too. */
  old_key_version: number | null;
  old_secret: Buffer | null;
}

/** Columns of {@link SecretsRow}. */
export const SECRET_COLUMNS = /* sql */ `
  id, account_id, key_version, secret,
  case when old_until > now() then old_key_version end as old_key_version,
  case when old_until > now() then old_secret end as old_secret`;

/** The secrets that sign, the current one first; without those whose sealing key was retired. */
export async function openSecrets(bodies: SealedBodies, row: SecretsRow): Promise<string[]> {
  const sealed: SealedBody[] = [{ version: row.key_version, sealed: row.secret }];
  if (row.old_key_version !== null && row.old_secret !== null)
    sealed.push({ version: row.old_key_version, sealed: row.old_secret });
  const [owner, endpointId] = [idFromUuid("acct", row.account_id), idFromUuid("we", row.id)];
  const secrets = await Promise.all(sealed.map((one) => bodies.open(owner, endpointId, one)));
  return secrets.filter((secret) => secret !== undefined);
}

/**
 * Seals with the current sealing key what an older one seals, so that the older one can be retired, and
 * deletes old secrets that sign no more.
 */
export async function resealSecrets(pool: Pool, bodies: SealedBodies): Promise<void> {
  await queryWithRetry(pool, {
    text: `update webhook_endpoint set old_key_version = null, old_secret = null, old_until = null
           where old_until <= now()`,
  });
  const rows = await queryWithRetry<SecretsRow>(pool, {
    text: `select ${SECRET_COLUMNS} from webhook_endpoint where key_version <> $1 or old_key_version <> $1`,
    values: [bodies.version],
  });
  for (const row of rows) {
    const [owner, endpointId] = [idFromUuid("acct", row.account_id), idFromUuid("we", row.id)];
    const secrets = await openSecrets(bodies, row);
    const [now, old] = secrets.map((secret) => bodies.seal(owner, endpointId, secret));
    if (!now || (old === undefined) !== (row.old_secret === null)) continue;
    await queryWithRetry(pool, {
      text: `update webhook_endpoint set key_version = $3, secret = $4, old_key_version = $5, old_secret = $6
             where id = $1 and secret = $2`,
      values: [row.id, row.secret, now.version, now.sealed, old?.version, old?.sealed],
    });
  }
}
