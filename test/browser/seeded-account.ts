import type { Keypair } from "@solana/web3.js";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { RequestBodies, RequestLogService } from "#gen/toolgate/console/v1/request_log_service_pb.ts";
import { signIn } from "../support/console.ts";
import { memoOf, xPayment, type World } from "../support/world.ts";

export interface SeededAccount {
  readonly accountId: string;
  readonly wallet: Keypair;
  readonly receiptId: string;
  readonly runId: string;
  /** `req_…` of that call. */
  readonly requestId: string;
  /** A deposit that waits for its payment. */
  readonly depositId: string;
}

/**
 * Creates an operator account with balance, keys, calls paid from the balance and on chain, deposits, and a
 * transfer in suspense.
 */
export async function seedAccount(world: World): Promise<SeededAccount> {
  const agent = await world.agent({ operator: true });
  const person = await signIn(world, agent.wallet);
  const keys = person.client(KeyService);
  // Before the first call: no instance has the account in its cache yet.
  await person.client(RequestLogService).setRequestLogSettings({ bodies: RequestBodies.ALL, hours: 168 });
  const limits = { callUsdcMicrousd: 50_000n, dayUsdcMicrousd: 2_000_000n, tools: [] };
  const { secret } = await keys.createKey({ name: "Research agent", scopes: [], limits });
  await keys.createKey({ name: "Build server", scopes: [] });
  const caller = { ...agent, apiKey: secret };
  const params = { model: "meta-llama/Llama-3.1-8B", context_length: 8_192 };
  const { quote } = (await world.call(caller, "vram_estimate", params)).body;
  const signature = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
  const paid = await world.call(caller, "vram_estimate", params, {
    headers: xPayment(signature, quote.quote_id),
  });
  await world.postgres.accounts.adjust({
    accountId: agent.accountId,
    amount: 25_000_000n,
    reason: "Welcome credit",
    idempotencyKey: "welcome",
  });
  for (const count of [1, 2, 3, 4, 5, 6])
    await world.call(count % 2 === 0 ? caller : agent, "vram_estimate", { ...params, batch_size: count });
  const deposits = person.client(DepositService);
  const { deposit } = await deposits.createDeposit({ amountUsdcMicrousd: 10_000_000n });
  await world.pay(agent, 1_250_000n, "for my account, thanks");
  return {
    accountId: agent.accountId,
    wallet: agent.wallet,
    receiptId: paid.body.receipt.receipt_id,
    runId: paid.body.receipt.run_id,
    requestId: paid.headers.get("x-request-id") ?? "",
    depositId: deposit?.depositId ?? "",
  };
}
