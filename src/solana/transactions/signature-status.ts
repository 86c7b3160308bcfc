import { z } from "zod";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import { transactionErrorSchema } from "./transaction-json.ts";

/** Solana's commitment levels. */
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
