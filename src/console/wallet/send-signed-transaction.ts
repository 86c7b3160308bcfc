import { Code, ConnectError } from "@connectrpc/connect";
import { base58 } from "@scure/base";

/** How often it is sent at most, and how long is waited in between, ms. */
const MAX_ATTEMPTS = 5;
const RETRY_DELAY_MS = 2_000;

/** Lengths of the count of signatures, of which there are few, and of a signature, bytes. */
const [COUNT, SIGNATURE] = [1, 64];

/** After these nobody knows whether it was sent. */
const AMBIGUOUS_CODES: ReadonlySet<Code> = new Set([
  Code.Aborted,
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.Unavailable,
  Code.Unknown,
]);

/**
 * Sends what a wallet has signed, and sends it again while nobody can tell whether it was sent: however often it is sent, it pays once, where
 * another one that was signed would pay again. When nobody ever tells, it counts as sent.
 * @returns its signature, base58
 * @throws ConnectError when it was refused: nothing was sent
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
      // A network that refuses it does not know it. Anything else says nothing of what was asked before.
      if (code === Code.InvalidArgument || (times === 1 && !AMBIGUOUS_CODES.has(code))) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return base58.encode(transaction.subarray(COUNT, COUNT + SIGNATURE));
}
