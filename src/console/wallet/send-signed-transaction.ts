import { Code, ConnectError } from "@connectrpc/connect";
import { base58 } from "@scure/base";

const MAX_ATTEMPTS = 5;
const RETRY_DELAY_MS = 2_000;

/** Sizes of the signature count and of a signature, bytes. */
const [COUNT, SIGNATURE] = [1, 64];

/** After these errors the transaction may or may not have been submitted. */
const AMBIGUOUS_CODES: ReadonlySet<Code> = new Set([
  Code.Aborted,
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.Unavailable,
  Code.Unknown,
]);

/**
 * Submits a signed transaction and retries with the same signature, which pays once: a new transaction could
 * pay twice. An unknown outcome counts as submitted. @throws ConnectError if it was rejected
 */
export async function sendSignedTransaction(
  send: (transaction: Uint8Array) => Promise<{ readonly txSignature: string }>,
  transaction: Uint8Array,
  pauseMs = RETRY_DELAY_MS,
): Promise<string> {
  for (let times = 1; times <= MAX_ATTEMPTS; times += 1) {
    try {
      return (await send(transaction)).txSignature;
    } catch (error) {
      const { code } = ConnectError.from(error);
      // Only a rejection by the network proves that an earlier attempt failed too.
      if (code === Code.InvalidArgument || (times === 1 && !AMBIGUOUS_CODES.has(code))) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return base58.encode(transaction.subarray(COUNT, COUNT + SIGNATURE));
}
