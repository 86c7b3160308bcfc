import { PaymentNotMadeError, PaymentUnsettledError } from "./errors.ts";
import type { Payer } from "./options.ts";
import { pause } from "./pause.ts";
import { summaryOf, type PaymentRecord } from "./payment-record.ts";
import { RpcError, type SolanaRpc } from "./rpc.ts";

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2000;

/**
 * Sends the same signed transfer until it is confirmed or expired.
 * @param fresh it was never sent: after a refusal by the RPC server no money has moved
 * @returns the payment, confirmed
 * @throws PaymentNotMadeError, PaymentUnsettledError
 */
export async function landTransfer(
  payer: Payer,
  record: PaymentRecord,
  fresh: boolean,
  signal: AbortSignal | undefined,
): Promise<PaymentRecord> {
  const { rpc } = payer;
  if (!rpc) throw unsettled(record, "an rpcUrl is needed to finish a transfer");
  const deadline = Date.now() + payer.settleTimeoutMs;
  if (fresh) await sendFirst(payer, rpc, record);
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 1.5, LONGEST_PAUSE_MS)) {
    const fate = await fateOf(rpc, record);
    if (fate === "confirmed") return payer.book.move(record, { state: "confirmed", refusal: undefined });
    if (fate !== "open") throw await notMoved(payer, record, fate.reason);
    if (Date.now() > deadline) throw unsettled(record, "the transfer was not confirmed in time");
    await pause(wait, signal);
    // Ignores send errors: the signature status decides.
    await rpc.send(record.transaction, false).catch(() => {});
  }
}

async function sendFirst(payer: Payer, rpc: SolanaRpc, record: PaymentRecord): Promise<void> {
  try {
    await rpc.send(record.transaction, true);
  } catch (error) {
    if (error instanceof RpcError && error.refused) throw await notMoved(payer, record, error.message);
  }
}

async function fateOf(
  rpc: SolanaRpc,
  { txSignature = "", lastValidBlockHeight }: PaymentRecord,
): Promise<"confirmed" | "open" | { reason: string }> {
  try {
    // Read the height first: a transaction that is absent after expiry can never land.
    const expired = lastValidBlockHeight !== undefined && (await rpc.blockHeight()) > lastValidBlockHeight;
    const status = await rpc.statusOf(txSignature);
    if (status === "confirmed") return "confirmed";
    if (status !== "absent") return { reason: `the transfer failed on the chain: ${status.failed}` };
    return expired ? { reason: "the transfer did not reach the chain before its blockhash expired" } : "open";
  } catch {
    return "open";
  }
}

/** No money moved or can move, so the record is deleted. */
async function notMoved(payer: Payer, record: PaymentRecord, reason: string): Promise<PaymentNotMadeError> {
  await payer.budget.release(record.paymentId);
  await payer.book.remove(record.paymentId);
  return new PaymentNotMadeError(`${reason}; nothing was paid, the call can be repeated`, summaryOf(record));
}

function unsettled(record: PaymentRecord, reason: string): PaymentUnsettledError {
  return new PaymentUnsettledError(
    `${reason}; the payment is in the store, finish it with resumePayments`,
    summaryOf(record),
    "sent",
  );
}
