import { Code, ConnectError } from "@connectrpc/connect";
import { base58 } from "@scure/base";
import { expect, it } from "vitest";
import { sendSignedTransaction } from "../../src/console/wallet/send-signed-transaction.ts";

const SIGNATURE = Uint8Array.from({ length: 64 }, (_, at) => at + 1);
const TRANSACTION = Uint8Array.from([1, ...SIGNATURE, 9, 9, 9]);
const txSignature = base58.encode(SIGNATURE);

/** Fails with these errors before it succeeds. */
function sender(failures: Error[]) {
  const sent: Uint8Array[] = [];
  const send = async (transaction: Uint8Array) => {
    sent.push(transaction);
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return { txSignature };
  };
  return { sent, send };
}

it("resubmits a signed transaction while its outcome is unknown", async () => {
  const { sent, send } = sender([
    new TypeError("Failed to fetch"),
    new ConnectError("no answer", Code.Unavailable),
  ]);
  expect(await sendSignedTransaction(send, TRANSACTION, 0)).toBe(txSignature);
  expect(sent).toEqual([TRANSACTION, TRANSACTION, TRANSACTION]);
});

it("treats a transaction with an unknown outcome as submitted", async () => {
  const { sent, send } = sender(
    Array.from({ length: 9 }, () => new ConnectError("no answer", Code.Unavailable)),
  );
  expect(await sendSignedTransaction(send, TRANSACTION, 0)).toBe(txSignature);
  expect(sent).toHaveLength(5);
});

it("throws a rejection without another attempt", async () => {
  for (const code of [Code.InvalidArgument, Code.FailedPrecondition, Code.NotFound, Code.Unauthenticated]) {
    const { sent, send } = sender([new ConnectError("refused", code)]);
    await expect(sendSignedTransaction(send, TRANSACTION, 0)).rejects.toMatchObject({ code });
    expect(sent).toHaveLength(1);
  }
});

it("does not mistake a later error for the outcome of an earlier attempt", async () => {
  const unknown = new TypeError("Failed to fetch");
  const later = [
    unknown,
    ...Array.from({ length: 4 }, () => new ConnectError("expired", Code.FailedPrecondition)),
  ];
  expect(await sendSignedTransaction(sender(later).send, TRANSACTION, 0)).toBe(txSignature);
  const refused = new ConnectError("the network refuses it", Code.InvalidArgument);
  await expect(sendSignedTransaction(sender([unknown, refused]).send, TRANSACTION, 0)).rejects.toBe(refused);
});
