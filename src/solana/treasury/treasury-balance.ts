import { z } from "zod";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { RpcRequest } from "../rpc/endpoint.ts";
import type { SolanaRpc } from "../rpc/rpc.ts";
import type { Commitment } from "../transactions/transaction-failure.ts";
import type { Treasury } from "../core/treasury.ts";

const balanceSchema = z.object({ value: z.object({ amount: z.string().regex(/^\d{1,20}$/) }) });

/** `getTokenAccountBalance` of the treasury's token account, micro-USD. */
export function balanceRequest(
  treasury: Pick<Treasury, "tokenAccount">,
  commitment: Commitment,
  signal: AbortSignal,
): RpcRequest<MicroUsd> {
  return {
    method: "getTokenAccountBalance",
    params: [treasury.tokenAccount, { commitment }],
    read: (answer) => BigInt(balanceSchema.parse(answer).value.amount),
    signal,
  };
}

/**
 * Returns the confirmed balance of the treasury's token account, micro-USD.
 * @throws ToolgateError UNAVAILABLE if no endpoint responds; RpcError if there is no such account
 */
export async function treasuryBalance(
  rpc: SolanaRpc,
  treasury: Pick<Treasury, "tokenAccount">,
  signal: AbortSignal,
): Promise<MicroUsd> {
  const { result } = await rpc.ask(balanceRequest(treasury, "confirmed", signal));
  return result;
}
