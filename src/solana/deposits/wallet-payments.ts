import { ComputeBudgetProgram, PublicKey, TransactionMessage, VersionedTransaction } from "@solana/web3.js";
import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { z } from "zod";
import type { WalletPayment, WalletPayments } from "../../app/deposits/deposits.ts";
import { parseAddress } from "../../domain/core/base58.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import { USDC_MINT, printable, type Treasury } from "../core/treasury.ts";
import { paymentInstructions } from "./payment-instructions.ts";
import { lamportsRequest, latestRequest, preflightRequest } from "../payments/relay-requests.ts";
import { RpcError, RpcFailure, type RpcFailureKind } from "../rpc/rpc-failure.ts";
import { unavailable, type SolanaRpc } from "../rpc/rpc.ts";
import { transactionFailure } from "../transactions/transaction-failure.ts";

/** Compute units: enough for a transfer, a memo and the instructions that wallets add. */
const UNITS = 80_000;
/** Micro-lamports per unit: 800 lamports in all, so that payments land in busy hours. */
const PRICE = 10_000;
/** Network fee: 5,000 lamports per signature plus the priority fee. */
const FEE_LAMPORTS = 5_000n + BigInt(UNITS * PRICE) / 1_000_000n;
/** Rent-exempt minimum of an account without data, lamports. */
const SMALLEST_LAMPORTS = 890_880n;
const LAMPORTS_PER_SOL = 1_000_000_000;

const PREFLIGHT_FAILURE = -32002;
const SIGNATURE_FAILURE = -32003;

/** Failures after which a node may have submitted the transaction. */
const UNSURE: ReadonlySet<RpcFailureKind> = new Set(["timeout", "network", "http", "malformed"]);

const balanceSchema = z.object({ value: z.object({ amount: z.string().regex(/^\d{1,20}$/) }) });
const errorDataSchema = z.object({ err: z.unknown() });

/** Payments to the treasury by wallets that pay the fee themselves. */
export class SolanaWalletPayments implements WalletPayments {
  readonly #rpc: SolanaRpc;
  readonly #treasury: Treasury;

  /** @param rpc shared with payment verification, so that each endpoint has one circuit breaker */
  constructor(rpc: SolanaRpc, treasury: Treasury) {
    this.#rpc = rpc;
    this.#treasury = treasury;
  }

  async build({ payer, amount, memo, reference }: WalletPayment, signal: AbortSignal): Promise<Uint8Array> {
    this.#requireWallet(payer);
    const [usdc, lamports, { result: recent }] = await Promise.all([
      this.#usdcOf(payer, signal),
      this.#rpc.ask(lamportsRequest(payer, signal)),
      this.#rpc.ask(latestRequest(signal)),
    ]);
    requireFunds(usdc, amount);
    requireFee(lamports.result);
    const instructions = paymentInstructions({ payer, payTo: this.#treasury.tokenAccount, amount, memo });
    if (reference !== undefined)
      instructions
        .at(-1)
        ?.keys.push({ pubkey: new PublicKey(reference), isSigner: false, isWritable: false });
    const message = new TransactionMessage({
      payerKey: new PublicKey(payer),
      recentBlockhash: recent.blockhash,
      instructions: [
        ComputeBudgetProgram.setComputeUnitLimit({ units: UNITS }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: PRICE }),
        ...instructions,
      ],
    }).compileToV0Message();
    return new VersionedTransaction(message).serialize();
  }

  /** Tries every endpoint; refuses only if none can have submitted it. */
  async send(transaction: Uint8Array, signal: AbortSignal): Promise<void> {
    const failures: Error[] = [];
    let refusal: string | undefined;
    for (const endpoint of this.#rpc.endpoints) {
      try {
        await endpoint.ask(preflightRequest(transaction, signal));
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFailure) && !(error instanceof RpcError)) throw error;
        const reason = error instanceof RpcError ? reasonOf(error) : undefined;
        if (reason === SENT_BEFORE) return;
        refusal ??= reason;
        failures.push(error);
      }
    }
    // Possibly submitted: reporting a refusal could make the client pay twice.
    if (failures.some((failure) => failure instanceof RpcFailure && UNSURE.has(failure.kind)))
      throw unsure(refusal, failures);
    if (refusal === undefined) throw unavailable(failures, this.#rpc.endpoints);
    throw invalidField("transaction", `the network refuses it: ${refusal}; nothing was sent`);
  }

  #requireWallet(payer: string): void {
    const address = parseAddress(payer);
    if (!address) throw invalidField("payer", "must be a Solana address (base58 of 32 bytes)");
    if (!PublicKey.isOnCurve(address))
      throw invalidField("payer", "must be a wallet that can sign, not an address of a program");
    if (payer === this.#treasury.owner)
      throw invalidField("payer", "must be your own wallet, not the treasury");
  }

  /** Undefined: there is no token account, which nodes report as a request error. */
  async #usdcOf(payer: string, signal: AbortSignal): Promise<MicroUsd | undefined> {
    const account = getAssociatedTokenAddressSync(new PublicKey(USDC_MINT), new PublicKey(payer));
    try {
      const { result } = await this.#rpc.ask({
        method: "getTokenAccountBalance",
        params: [account.toBase58(), { commitment: "confirmed" }],
        read: (answer) => BigInt(balanceSchema.parse(answer).value.amount),
        signal,
      });
      return result;
    } catch (error) {
      if (error instanceof RpcError) return undefined;
      throw error;
    }
  }
}

function requireFunds(usdc: MicroUsd | undefined, amount: MicroUsd): void {
  if (usdc === undefined)
    throw invalidField(
      "payer",
      "has no token account for USDC: send some USDC on Solana to this wallet first",
    );
  if (usdc < amount)
    throw invalidField("payer", `holds ${displayUsd(usdc)} of USDC, and ${displayUsd(amount)} is to be paid`);
}

/** The account must end empty or with at least the rent-exempt minimum. */
function requireFee(lamports: bigint): void {
  const left = lamports - FEE_LAMPORTS;
  if (left === 0n || left >= SMALLEST_LAMPORTS) return;
  const needed = Number(FEE_LAMPORTS + SMALLEST_LAMPORTS) / LAMPORTS_PER_SOL;
  throw invalidField(
    "payer",
    `holds ${Number(lamports) / LAMPORTS_PER_SOL} SOL, which does not pay the network's fee: it needs ` +
      `${needed} SOL, most of which stays in it`,
  );
}

function unsure(refusal: string | undefined, failures: readonly Error[]): ToolgateError {
  const refused = refusal === undefined ? "" : ` (one refuses it: ${refusal})`;
  return new ToolgateError(
    "UNAVAILABLE",
    `a node of the network gave no answer, and may have sent it${refused}: send the same transaction ` +
      "again, and do not sign another one",
    {
      retryAfterSeconds: 2,
      cause: new AggregateError(failures, failures.map(({ message }) => message).join("; ")),
    },
  );
}

const SENT_BEFORE = "it was sent before";

/** Why a node refuses the transaction; undefined if the transaction is not at fault. */
function reasonOf({ code, data, message }: RpcError): string | undefined {
  if (code === SIGNATURE_FAILURE) return "a signature does not verify";
  if (code !== PREFLIGHT_FAILURE) return undefined;
  const parsed = errorDataSchema.safeParse(data);
  const err = parsed.success ? parsed.data.err : undefined;
  if (err === "AlreadyProcessed" || message.includes("already been processed")) return SENT_BEFORE;
  if (err === undefined || err === null) return printable(message);
  const { reason, feePayer } = transactionFailure(err);
  return printable(feePayer ? `the wallet holds too little SOL for the fee (${reason})` : reason);
}
