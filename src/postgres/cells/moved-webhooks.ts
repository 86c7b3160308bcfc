import type { Pool, PoolClient } from "pg";
import type { MovedWebhook } from "../../app/cells/account-moves.ts";
import { MAX_ENDPOINTS } from "../../app/webhooks/webhook-endpoints.ts";
import type { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { openSecrets, SECRET_COLUMNS, type SecretsRow } from "../webhooks/endpoint-secrets.ts";

interface EndpointRow extends SecretsRow {
  url: string;
  types: string[];
  disabled: string | null;
  old_until: Date | null;
  created_at: Date;
}

const LIST = /* sql */ `
  select ${SECRET_COLUMNS}, url, types, disabled, old_until, created_at
  from webhook_endpoint where account_id = $1 order by slot`;

/** An account that comes back has the endpoints that it had last; they keep what they were sent here. */
const REMOVE = /* sql */ `
  with gone as (
    delete from webhook_endpoint where id = any($2) or account_id = $1 and exists (
      select from account_move where account_id = $1 and direction = 'out')
    returning id),
  deleted as (select id from gone where id <> all($2)),
  deliveries as (delete from webhook_delivery where endpoint_id in (select id from deleted)),
  attempts as (delete from webhook_attempt where endpoint_id in (select id from deleted))
  select id from deleted`;

const ADD = /* sql */ `
  insert into webhook_endpoint (
    id, account_id, slot, url, types, disabled, key_version, secret, old_key_version, old_secret, old_until,
    created_at)
  select $1, $2, slot, $3, $4, $5, $6, $7, $8, $9, $10, $11
  from generate_series(1, ${MAX_ENDPOINTS}) slot
  where slot not in (select slot from webhook_endpoint where account_id = $2)
  order by slot limit 1
  returning id`;

/** Endpoints of an account that is about to leave; without those whose sealing key was retired. */
export async function movedWebhooks(
  pool: Pool,
  bodies: SealedBodies,
  accountId: string,
): Promise<MovedWebhook[]> {
  const rows = await queryWithRetry<EndpointRow>(pool, { text: LIST, values: [uuidOf("acct", accountId)] });
  const endpoints = await Promise.all(
    rows.map(async ({ id, url, types, disabled, old_until: until, created_at: createdAt, ...sealed }) => {
      const [secret, old] = await openSecrets(bodies, { id, ...sealed });
      const oldSecret = old !== undefined && until !== null ? { secret: old, until } : undefined;
      return { id, url, types, disabled: disabled ?? undefined, secret, oldSecret, createdAt };
    }),
  );
  return endpoints.flatMap(({ secret, ...rest }) => (secret === undefined ? [] : [{ secret, ...rest }]));
}

/**
 * Stores the endpoints of an account that arrives, within its transaction.
 * @param account uuid
 * @throws ToolgateError INVALID_REQUEST when the account would have too many
 */
export async function addMovedWebhooks(
  client: PoolClient,
  bodies: SealedBodies,
  account: string,
  webhooks: readonly MovedWebhook[],
): Promise<void> {
  const owner = idFromUuid("acct", account);
  await client.query(REMOVE, [account, webhooks.map(({ id }) => id)]);
  for (const { id, url, types, disabled, createdAt, ...secrets } of webhooks) {
    const seal = (secret: string) => bodies.seal(owner, idFromUuid("we", id), secret);
    const [now, old] = [seal(secrets.secret), secrets.oldSecret && seal(secrets.oldSecret.secret)];
    const added = await client.query(ADD, [
      id,
      account,
      url,
      types,
      disabled,
      now.version,
      now.sealed,
      old?.version,
      old?.sealed,
      secrets.oldSecret?.until,
      createdAt,
    ]);
    if (added.rowCount === 0)
      throw new ToolgateError(
        "INVALID_REQUEST",
        `account: it and its wallet's account in the other cell have more than ${MAX_ENDPOINTS} webhook ` +
          "endpoints together; delete some first",
      );
  }
}
