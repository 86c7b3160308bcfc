import { z } from "zod";
import type { Approval, Approvals, ApprovalState, RefusedCall } from "../../app/oauth/approvals.ts";
import type { Random } from "../../domain/core/clock.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { Parts } from "../database/parts.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { bytesOf } from "./oauth-records.ts";
import { DecisionPoll } from "./decision-poll.ts";

/** Payload of a record of the model `Approval`. */
const content = z.object({
  id: z.string(),
  state: z.enum(["asked", "allowed", "refused"]),
  tool: z.string(),
  params: z.string(),
  price: z.string().transform(BigInt),
});

/** Requests for single calls as records of the model `Approval`, which `approval_take` deletes. */
export class PostgresApprovals implements Approvals {
  readonly #pool: Parts["pool"];
  readonly #random: Random;
  readonly #poll: DecisionPoll;

  constructor({ pool, random }: Pick<Parts, "pool"> & { readonly random: Random }) {
    this.#pool = pool;
    this.#random = random;
    this.#poll = new DecisionPoll(pool);
  }

  async ask({ keyId, tool, params, price, fingerprint }: RefusedCall) {
    const id = Buffer.from(this.#random.bytes(32)).toString("base64url");
    const print = fingerprint.toString("hex");
    const request = { id, state: "asked", tool, params, price: price.toString(), fingerprint: print };
    const [row] = await queryWithRetry<{ request: unknown }>(this.#pool, {
      name: "approval-ask",
      text: "select approval_ask($1, $2, $3) as request",
      values: [uuidFromId("key", keyId), bytesOf(id), JSON.stringify(request)],
    });
    if (!row?.request) return undefined;
    const stored = content.parse(row.request);
    return { id: stored.id, state: stored.state, isNew: stored.id === id };
  }

  async find(id: string, accountId: string): Promise<Approval | undefined> {
    const [row] = await queryWithRetry<ApprovalRow>(this.#pool, {
      name: "approval-find",
      text: `select asked.payload, asked.expires_at, asked.key_id
             from oauth_record asked join api_key key on key.id = asked.key_id
             where asked.id = $1 and asked.model = 'Approval' and asked.expires_at > now()
               and key.account_id = $2 and key.revoked_at is null`,
      values: [bytesOf(id), uuidOf("acct", accountId)],
    });
    if (!row) return undefined;
    const { id: _, ...shown } = content.parse(row.payload);
    return { ...shown, keyId: idFromUuid("key", row.key_id), expiresAt: row.expires_at };
  }

  /** Not retried: the first try may have decided it. */
  async decide(id: string, accountId: string, decision: Exclude<ApprovalState, "asked">): Promise<boolean> {
    const { rows } = await this.#pool.query<{ decided: boolean }>({
      name: "approval-decide",
      text: "select approval_decide($1, $2, $3) as decided",
      values: [bytesOf(id), uuidFromId("acct", accountId), decision],
    });
    return rows[0]?.decided === true;
  }

  async withdraw(id: string, accountId: string): Promise<void> {
    await queryWithRetry(this.#pool, {
      name: "approval-withdraw",
      text: `delete from oauth_record
             where id = $1 and model = 'Approval'
               and key_id in (select id from api_key where account_id = $2)`,
      values: [bytesOf(id), uuidFromId("acct", accountId)],
    });
  }

  settled(id: string, ms: number, signal: AbortSignal): Promise<boolean> {
    return this.#poll.settled(bytesOf(id), ms, signal);
  }
}

interface ApprovalRow {
  payload: unknown;
  expires_at: Date;
  key_id: string;
}
