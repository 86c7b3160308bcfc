import { z } from "zod";
import { MalformedAnswer } from "./rpc-failure.ts";
import { transactionErrorSchema } from "./transaction-json.ts";

/** How sure the cluster is of a transaction (Solana's commitment levels). */
export type Commitment = "confirmed" | "finalized";

const statusSchema = z.object({
  confirmationStatus: z.enum(["processed", "confirmed", "finalized"]).nullable(),
});

const statusesSchema = z.object({ value: z.array(statusSchema.nullable()) });

/** One entry of a `getSignatureStatuses` answer; null: the endpoint does not know the signature. */
export type SignatureStatus = z.infer<typeof statusSchema> | null;

/** Reads a `getSignatureStatuses` result for that many signatures. @throws ZodError or MalformedAnswer */
export function readStatuses(result: unknown, count: number): SignatureStatus[] {
  const { value } = statusesSchema.parse(result);
  if (value.length !== count) throw new MalformedAnswer(`${value.length} statuses for ${count} signatures`);
  return value;
}

const outcomesSchema = z.object({
  context: z.object({ slot: z.int().nonnegative() }),
  value: z.array(statusSchema.extend({ err: transactionErrorSchema }).nullable()),
});

/** A status that says, too, whether the transaction succeeded: `err` is null. */
export type SignatureOutcome = z.infer<typeof outcomesSchema>["value"][number];

/** Like {@link readStatuses}, with the outcomes and the slot that the endpoint had come to. @throws ZodError or MalformedAnswer */
export function readOutcomes(result: unknown, count: number): { slot: bigint; outcomes: SignatureOutcome[] } {
  const { context, value } = outcomesSchema.parse(result);
  if (value.length !== count) throw new MalformedAnswer(`${value.length} statuses for ${count} signatures`);
  return { slot: BigInt(context.slot), outcomes: value };
}

/** Whether a status is at least that sure. Says nothing of success: failed transactions have a status too. */
export function hasReached(status: SignatureStatus, commitment: Commitment): boolean {
  return (
    status?.confirmationStatus === "finalized" ||
    (commitment === "confirmed" && status?.confirmationStatus === "confirmed")
  );
}
