import { z } from "zod";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import { transactionErrorSchema } from "./transaction-json.ts";

/** Why a transaction failed, in prose. */
interface TransactionFailure {
  readonly reason: string;
  /** Whether only the fee payer is at fault. */
  readonly feePayer: boolean;
}

/** SPL Token errors (`TokenError`) that a transfer can cause. */
const TOKEN_ERRORS: Readonly<Record<number, string>> = {
  1: "the payer's token account holds too little USDC",
  3: "the token account is of another mint",
  4: "the signer does not own the token account",
  17: "the token account is frozen",
};

/** Errors of a transfer from a missing token account. */
const NO_ACCOUNT = new Set(["InvalidAccountData", "IncorrectProgramId", "UninitializedAccount"]);

/** Transaction errors (the runtime's `TransactionError`). */
const ERRORS: Readonly<Record<string, string>> = {
  BlockhashNotFound: "its blockhash has expired, or is not known to the network",
  SignatureFailure: "a signature does not verify",
};

/** Errors about account 0, the fee payer. */
const FEE_PAYER_ERRORS = new Set(["AccountNotFound", "InsufficientFundsForFee", "InvalidAccountForFee"]);

/** @param err TransactionError as returned by the RPC, not null */
export function transactionFailure(err: unknown): TransactionFailure {
  if (typeof err === "string") return { reason: ERRORS[err] ?? err, feePayer: FEE_PAYER_ERRORS.has(err) };
  const instruction = member(err, "InstructionError");
  if (Array.isArray(instruction))
    return { reason: instructionFailure(instruction[0], instruction[1]), feePayer: false };
  const feePayer = member(member(err, "InsufficientFundsForRent"), "account_index") === 0;
  return { reason: feePayer ? "the fee payer holds too little SOL" : brief(err), feePayer };
}

function instructionFailure(index: unknown, error: unknown): string {
  const code = member(error, "Custom");
  const known = typeof code === "number" ? TOKEN_ERRORS[code] : undefined;
  if (known !== undefined) return known;
  if (typeof error === "string" && NO_ACCOUNT.has(error))
    return `the payer has no token account for USDC (${error})`;
  return `instruction ${brief(index)} fails with ${brief(error)}`;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value ? Reflect.get(value, name) : undefined;
}

function brief(value: unknown): string {
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 200);
}

export type Commitment = "confirmed" | "finalized";

const statusSchema = z.object({
  confirmationStatus: z.enum(["processed", "confirmed", "finalized"]).nullable(),
});

const statusesSchema = z.object({ value: z.array(statusSchema.nullable()) });

/** One entry of a `getSignatureStatuses` response; null: unknown signature. */
export type SignatureStatus = z.infer<typeof statusSchema> | null;

/** Parses a `getSignatureStatuses` result for `count` signatures. @throws ZodError or MalformedAnswer */
export function readStatuses(result: unknown, count: number): SignatureStatus[] {
  const { value } = statusesSchema.parse(result);
  if (value.length !== count) throw new MalformedAnswer(`${value.length} statuses for ${count} signatures`);
  return value;
}

const outcomesSchema = z.object({
  context: z.object({ slot: z.int().nonnegative() }),
  value: z.array(statusSchema.extend({ err: transactionErrorSchema }).nullable()),
});

/** A status with the outcome: `err` is null on success. */
export type SignatureOutcome = z.infer<typeof outcomesSchema>["value"][number];

/**
 * Like {@link readStatuses}, with the outcomes and the endpoint's slot. @throws ZodError or MalformedAnswer
 */
export function readOutcomes(result: unknown, count: number): { slot: bigint; outcomes: SignatureOutcome[] } {
  const { context, value } = outcomesSchema.parse(result);
  if (value.length !== count) throw new MalformedAnswer(`${value.length} statuses for ${count} signatures`);
  return { slot: BigInt(context.slot), outcomes: value };
}

/** Whether a status reached the commitment. Failed transactions reach it too. */
export function hasReached(status: SignatureStatus, commitment: Commitment): boolean {
  return (
    status?.confirmationStatus === "finalized" ||
    (commitment === "confirmed" && status?.confirmationStatus === "confirmed")
  );
}
