import type { Pool } from "pg";
import type { CountedCall, LimitRefusal } from "../../app/calls/ledger.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { queryWithRetry } from "../database/retry.ts";
import { refusalOf } from "./records.ts";

/** Limits of keys and groups, outside of an authorization. */
export class KeyLimits {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** What would refuse the call; undefined: nothing. */
  async refusalOf(call: CountedCall): Promise<LimitRefusal | undefined> {
    const text = "select budget_refusal($1, $2, $3) as refusal";
    const query = { name: "key-refusal", text, values: valuesOf(call) };
    const [row] = await queryWithRetry<{ refusal: unknown }>(this.#pool, query);
    return row?.refusal ? refusalOf(row.refusal) : undefined;
  }

  /** Writes the event of the budget that refuses the call, once per period. */
  async reportExhausted(call: CountedCall): Promise<void> {
    const text = "select budget_exhaust($1, $2, $3)";
    await queryWithRetry(this.#pool, { name: "budget-exhaust", text, values: valuesOf(call) });
  }
}

function valuesOf({ keyId, tool, price }: CountedCall): unknown[] {
  return [uuidOf("key", keyId) ?? null, tool, price];
}
