import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { createTransferCheckedInstruction } from "@solana/spl-token";
import { PublicKey, type TransactionInstruction } from "@solana/web3.js";
import {
  DepositService,
  DepositState,
  type Deposit,
  type ListDepositsRequestSchema,
} from "../../gen/toolgate/console/v1/deposit_service_pb.ts";
import { afterAll } from "vitest";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import type { Caller } from "../../src/domain/accounts/caller.ts";
import { Quotes } from "../../src/domain/payments/quote.ts";
import { createDepositService } from "../../src/gateway/console.ts";
import { USDC_DECIMALS, USDC_MINT } from "../../src/localchain/index.ts";
import { createLogger } from "../../src/log.ts";
import { openChain } from "../../src/solana/index.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import type { ServiceBinding } from "../../src/transport/endpoint.ts";
import type { RequestContext } from "../../src/transport/request-context.ts";
import type { Agent } from "../support/world.ts";
import { useScene as useTreasury, type Scene as TreasuryScene, type Watching } from "./fixture.ts";
import { silentMetrics } from "../../src/metrics/silent-metrics.ts";

export { soon } from "./fixture.ts";
export { DepositState };
export type { Deposit };

/** The deposit service of one instance. */
export interface DepositClient {
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

/** A chain that produces slots on request, two endpoints, gateways with treasury jobs, deposit clients. */
export interface Scene extends TreasuryScene {
  gateway: Watching;
  depositClient(urls?: readonly string[]): DepositClient;
  /** Makes the cluster confirm the chain's transactions. */
  confirm(): void;
  /** Sends USDC to the treasury, with `memo` and `reference`. */
  transfer(agent: Agent, transfer: { amount: bigint; memo?: string; reference?: string }): Promise<string>;
  balance(agent: Agent): Promise<bigint>;
}

export const AMOUNT = 1_500_000n;

/** The scene of a file; slots only on request. @param before runs before the gateway starts */
export function useDeposits(before?: () => Promise<void>): Scene {
  const scene = useTreasury(0, before) as Scene;
  const closing: (() => void)[] = [];
  const depositClient = (urls: readonly string[] = [scene.chain.url, scene.secondUrl]) => {
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
    return depositClientOf(
      createDepositService({ config, postgres: scene.postgres, chain, quotes, metrics, log }),
    );
  };
  Object.assign(scene, {
    depositClient,
    confirm: () => scene.chain.chain.advance(2),
    transfer: (agent, transfer) => scene.send(agent, instructionsOf(scene, agent, transfer)),
    balance: ({ accountId }) => scene.postgres.ledger.balance(accountId),
  } satisfies Partial<Scene>);
  afterAll(() => {
    for (const close of closing) close();
  });
  return scene;
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

function depositClientOf({ endpoints }: ServiceBinding): DepositClient {
  /** Calls a method as a session of the agent does. */
  const ask = async <I extends DescMessage, O extends DescMessage>(
    { localName, input, output }: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    agent: Agent,
    signal?: AbortSignal,
  ): Promise<MessageShape<O>> => {
    const endpoint = endpoints[localName];
    if (endpoint?.key !== "required") throw new Error(`${localName} requires no session`);
    const answer = await endpoint.handle(create(input, request), sessionOf(agent, signal));
    return create(output, answer as MessageInitShape<O>);
  };
  const { method } = DepositService;
  return {
    begin: async (agent, amountUsdcMicrousd = AMOUNT) =>
      reported(await ask(method.createDeposit, { amountUsdcMicrousd }, agent)),
    get: async (agent, { depositId }, signal) =>
      reported(await ask(method.getDeposit, { depositId }, agent, signal)),
    cancel: async (agent, { depositId }) => reported(await ask(method.cancelDeposit, { depositId }, agent)),
    list: async (agent, page = {}) => (await ask(method.listDeposits, page, agent)).items,
    build: async (agent, what, payer = agent.wallet.publicKey.toBase58()) => {
      const { transaction } =
        "depositId" in what
          ? await ask(method.buildDepositTransaction, { ...what, payer }, agent)
          : await ask(method.buildQuoteTransaction, { ...what, payer }, agent);
      return transaction;
    },
    send: async (agent, transaction, depositId) => {
      const request = { transaction, ...(depositId !== undefined && { depositId }) };
      return (await ask(method.sendTransaction, request, agent)).txSignature;
    },
  };
}

function reported({ deposit }: { deposit?: Deposit | undefined }): Deposit {
  if (!deposit) throw new Error("no deposit was returned");
  return deposit;
}

/** A session of the agent's account. */
function sessionOf({ accountId }: Agent, signal = new AbortController().signal): RequestContext<Caller> {
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
