import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createTransferCheckedInstruction } from "@solana/spl-token";
import { PublicKey, type TransactionInstruction } from "@solana/web3.js";
import {
  BuildDepositTransactionRequestSchema,
  BuildQuoteTransactionRequestSchema,
  CancelDepositRequestSchema,
  CreateDepositRequestSchema,
  DepositState,
  GetDepositRequestSchema,
  ListDepositsRequestSchema,
  SendTransactionRequestSchema,
  type Deposit,
} from "../../gen/toolgate/console/v1/deposit_service_pb.ts";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import type { Caller } from "../../src/domain/accounts/caller.ts";
import { Quotes } from "../../src/domain/payments/quote.ts";
import { createDepositService } from "../../src/gateway/deposits.ts";
import { USDC_DECIMALS, USDC_MINT } from "../../src/localchain/index.ts";
import { createLogger } from "../../src/log.ts";
import { openChain } from "../../src/solana/index.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import type { KeyedContext } from "../../src/transport/request-context.ts";
import type { Agent } from "../support/world.ts";
import { setScene as setTreasuryScene, type Scene as TreasuryScene } from "./fixture.ts";
import { silentMetrics } from "../../src/metrics/silent-metrics.ts";

export { soon } from "./fixture.ts";
export { DepositState };
export type { Deposit };

type Service = ReturnType<typeof createDepositService>;

/** The deposit service of one instance. */
export interface Teller {
  begin(agent: Agent, amount?: bigint): Promise<Deposit>;
  get(agent: Agent, deposit: Deposit, signal?: AbortSignal): Promise<Deposit>;
  cancel(agent: Agent, deposit: Deposit): Promise<Deposit>;
  list(agent: Agent, page?: MessageInitShape<typeof ListDepositsRequestSchema>): Promise<Deposit[]>;
  /**
   * The transaction of a deposit, or of a quote, for a wallet to sign; the agent's own unless it is named.
   */
  build(agent: Agent, what: { depositId: string } | { quoteId: string }, payer?: string): Promise<Uint8Array>;
  send(agent: Agent, transaction: Uint8Array, depositId?: string): Promise<string>;
}

/** A chain that produces slots on request only, two endpoints, gateways with treasury jobs, and tellers. */
export interface Scene extends TreasuryScene {
  teller(urls?: readonly string[]): Teller;
  /** Makes the cluster confirm the chain's transactions. */
  confirm(): void;
  /** Sends USDC to the treasury, with `memo` and `reference`. */
  transfer(agent: Agent, transfer: { amount: bigint; memo?: string; reference?: string }): Promise<string>;
  balance(agent: Agent): Promise<bigint>;
}

export const AMOUNT = 1_500_000n;

export async function setScene(): Promise<Scene> {
  const scene = await setTreasuryScene(0);
  const closing: (() => void)[] = [];
  const teller = (urls: readonly string[] = [scene.chain.url, scene.secondUrl]) => {
    const config = requireServeConfig(readConfig({ ...scene.settings, SOLANA_RPC_URLS: urls.join(",") }));
    const log = createLogger("silent", { secrets: [] });
    const chain = openChain({
      urls,
      treasuryOwner: config.TREASURY_OWNER,
      memoPrefix: config.MEMO_PREFIX,
      waitMs: 0,
      finalizedAbove: BigInt(config.FINALIZED_ABOVE_MICROUSD),
      clock: systemClock,
      log,
      attemptMs: 500,
    });
    closing.push(() => chain.close());
    const quotes = new Quotes(
      scene.postgres.sealingKeys,
      systemClock,
      systemRandom,
      config.QUOTE_TTL_SECONDS,
    );
    const metrics = silentMetrics;
    return tellerOf(createDepositService({ config, postgres: scene.postgres, chain, quotes, metrics, log }));
  };
  return {
    ...scene,
    teller,
    confirm: () => scene.chain.chain.advance(2),
    transfer: (agent, transfer) => scene.send(agent, instructionsOf(scene, agent, transfer)),
    balance: ({ accountId }) => scene.postgres.ledger.balance(accountId),
    async close() {
      for (const close of closing) close();
      await scene.close();
    },
  };
}

function instructionsOf(
  { chain, payTo }: TreasuryScene,
  { wallet }: Agent,
  { amount, memo, reference }: { amount: bigint; memo?: string; reference?: string },
): TransactionInstruction[] {
  const owner = wallet.publicKey;
  const source = chain.controls.usdcAccount(owner);
  const move = createTransferCheckedInstruction(
    source,
    new PublicKey(USDC_MINT),
    new PublicKey(payTo),
    owner,
    amount,
    USDC_DECIMALS,
  );
  if (reference !== undefined)
    move.keys.push({ pubkey: new PublicKey(reference), isSigner: false, isWritable: false });
  const memos =
    memo === undefined
      ? []
      : paymentInstructions({ payer: owner.toBase58(), payTo, amount, memo }).slice(0, 1);
  return [...memos, move];
}

function tellerOf({ endpoints }: Service): Teller {
  return {
    begin: async (agent, amountUsdcMicrousd = AMOUNT) => {
      const request = create(CreateDepositRequestSchema, { amountUsdcMicrousd });
      return reported(await endpoints.createDeposit.call(request, sessionOf(agent)));
    },
    get: async (agent, { depositId }, signal) =>
      reported(
        await endpoints.getDeposit.call(
          create(GetDepositRequestSchema, { depositId }),
          sessionOf(agent, signal),
        ),
      ),
    cancel: async (agent, { depositId }) =>
      reported(
        await endpoints.cancelDeposit.call(
          create(CancelDepositRequestSchema, { depositId }),
          sessionOf(agent),
        ),
      ),
    list: async (agent, page = {}) => {
      const { items = [] } = await endpoints.listDeposits.call(
        create(ListDepositsRequestSchema, page),
        sessionOf(agent),
      );
      return items as Deposit[];
    },
    build: async (agent, what, payer = agent.wallet.publicKey.toBase58()) => {
      const { transaction } =
        "depositId" in what
          ? await endpoints.buildDepositTransaction.call(
              create(BuildDepositTransactionRequestSchema, { ...what, payer }),
              sessionOf(agent),
            )
          : await endpoints.buildQuoteTransaction.call(
              create(BuildQuoteTransactionRequestSchema, { ...what, payer }),
              sessionOf(agent),
            );
      return transaction ?? new Uint8Array();
    },
    send: async (agent, transaction, depositId) => {
      const request = create(SendTransactionRequestSchema, {
        transaction,
        ...(depositId !== undefined && { depositId }),
      });
      return (await endpoints.sendTransaction.call(request, sessionOf(agent))).txSignature ?? "";
    },
  };
}

function reported({ deposit }: { deposit?: unknown }): Deposit {
  return deposit as Deposit;
}

/** A session of the agent's account. */
function sessionOf({ accountId }: Agent, signal = new AbortController().signal): KeyedContext {
  return {
    // The part of the context that these endpoints read.
    caller: { keyId: "ses_1", accountId } as Caller,
    requestId: "req_1",
    signal,
    xPayment: undefined,
    idempotencyKey: undefined,
    memoForm: "prefix",
  };
}
