import { sign, createPrivateKey } from "node:crypto";
import {
  address,
  appendTransactionMessageInstructions,
  blockhash,
  createKeyPairSignerFromBytes,
  createTransactionMessage,
  getTransactionEncoder,
  partiallySignTransactionMessageWithSigners,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from "@solana/kit";
import { Keypair, Transaction, type TransactionInstruction } from "@solana/web3.js";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import { afterAll, expect, it } from "vitest";
import { startLocalChain } from "../../../src/localchain/index.ts";
import { rpc, usdcOf } from "../../localchain/paying.ts";
import { bid, limit, makeScene, memo, MEMO_V1, MINT, payment, PRICE, signed, transfer } from "./fixture.ts";

/** Transactions that clients build: the relay signs them, and they land at the fee that it reckoned with. */
const local = await startLocalChain({ slotMs: 0 });
const treasury = local.controls.createWallet({ microUsd: 0n, lamports: 0n });
const scene = makeScene({
  feePayer: local.controls.createWallet(),
  payer: local.controls.createWallet({ microUsd: 1_000_000n, lamports: 0n }),
  treasuryOwner: treasury.publicKey,
});
afterAll(() => local.close());

/** A different blockhash for each, so that equal payments are different transactions. */
function freshBlockhash(): string {
  local.chain.advance();
  return local.chain.slots.blockhash(local.chain.slots.current);
}

const web3 =
  (instructions: () => TransactionInstruction[], legacy = false) =>
  () =>
    signed(scene, instructions(), { legacy, blockhash: freshBlockhash() });

/** Transaction of web3.js, which cannot be sent without the fee payer's signature, but can be handed over. */
function legacyClass(): Uint8Array {
  const transaction = new Transaction({
    feePayer: scene.feePayer.publicKey,
    blockhash: freshBlockhash(),
    lastValidBlockHeight: 0,
  });
  transaction.add(...payment(scene)).partialSign(scene.payer);
  return transaction.serialize({ requireAllSignatures: false });
}

async function kit(version: 0 | "legacy"): Promise<Uint8Array> {
  const signer = await createKeyPairSignerFromBytes(scene.payer.secretKey);
  const instructions = payment(scene).map(({ programId, keys, data }) => ({
    programAddress: address(programId.toBase58()),
    accounts: keys.map(({ pubkey, isSigner, isWritable }) => {
      const role = (isSigner ? 2 : 0) + (isWritable ? 1 : 0);
      return { address: address(pubkey.toBase58()), role, ...(isSigner && { signer }) };
    }),
    data: new Uint8Array(data),
  }));
  const lifetime = { blockhash: blockhash(freshBlockhash()), lastValidBlockHeight: 0n };
  const message = pipe(
    createTransactionMessage({ version }),
    (m) => setTransactionMessageFeePayer(address(scene.feePayer.publicKey.toBase58()), m),
    (m) => setTransactionMessageLifetimeUsingBlockhash(lifetime, m),
    (m) => appendTransactionMessageInstructions(instructions, m),
  );
  return new Uint8Array(
    getTransactionEncoder().encode(await partiallySignTransactionMessageWithSigners(message)),
  );
}

async function x402(): Promise<Uint8Array> {
  local.chain.advance();
  const client = new ExactSvmScheme(await createKeyPairSignerFromBytes(scene.payer.secretKey), {
    rpcUrl: local.url,
  });
  const { payload } = await client.createPaymentPayload(2, {
    scheme: "exact",
    network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    asset: MINT.toBase58(),
    amount: String(PRICE),
    payTo: scene.treasuryOwner.toBase58(),
    maxTimeoutSeconds: 60,
    extra: { feePayer: scene.feePayer.publicKey.toBase58(), memo: scene.memo },
  });
  return Buffer.from(String(payload.transaction), "base64");
}

/** Signs like an agent that has only a key. */
function built(): Uint8Array {
  const recent = { blockhash: freshBlockhash(), lastValidBlockHeight: 150n };
  const { quote, sponsor, payer } = scene;
  const { transaction, message, feePayer } = sponsor.build({
    quote,
    payer: payer.publicKey.toBase58(),
    recent,
  });
  expect(feePayer).toBe(scene.feePayer.publicKey.toBase58());
  const der = Buffer.concat([
    Buffer.from("302e020100300506032b657004220420", "hex"),
    payer.secretKey.subarray(0, 32),
  ]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const bytes = Buffer.from(transaction);
  sign(null, message, key).copy(bytes, 65);
  return bytes;
}

it.each<readonly [client: string, bytes: () => Uint8Array | Promise<Uint8Array>]>([
  ["the unmodified x402 client", x402],
  ["the gateway itself, for a payer that only signs", built],
  ["kit, version 0", () => kit(0)],
  ["kit, legacy", () => kit("legacy")],
  ["web3.js, version 0", web3(() => payment(scene))],
  ["web3.js, legacy", web3(() => payment(scene), true)],
  ["the older class of web3.js", legacyClass],
  ["Solana Pay, memo first", web3(() => [limit(), bid(), memo(scene.memo), transfer(scene)])],
  ["one with the first Memo program", web3(() => payment(scene).toSpliced(3, 1, memo(scene.memo, MEMO_V1)))],
  ["one in a hurry", web3(() => [limit(60_000), bid(50_000), ...payment(scene).slice(2)])],
])("lands a transaction built by %s", async (_client, bytes) => {
  const decoded = scene.sponsor.decode(await bytes());
  expect(decoded).toMatchObject({ memo: scene.memo, payer: scene.payer.publicKey.toBase58() });
  const { signedTransaction, feeLamports } = scene.sponsor.sign(decoded, scene.quote);
  const before = { lamports: lamports(), usdc: await usdcOf(local, treasury) };

  const simulated = await rpc(local, "simulateTransaction", base64(signedTransaction), {
    encoding: "base64",
    sigVerify: true,
  });
  expect(simulated).toMatchObject({ value: { err: null } });
  const signature = await rpc(local, "sendTransaction", base64(signedTransaction), { encoding: "base64" });

  expect(signature).toBe(decoded.txSignature);
  expect(before.lamports - lamports()).toBe(feeLamports);
  expect((await usdcOf(local, treasury)) - before.usdc).toBe(PRICE);
});

it("is built only for wallets that can sign", () => {
  const { quote, sponsor, treasuryOwner, feePayer } = scene;
  const recent = { blockhash: freshBlockhash(), lastValidBlockHeight: 150n };
  const build = (payer: string) => () => sponsor.build({ quote, payer, recent });
  const account = local.controls.usdcAccount(scene.payer.publicKey).toBase58();

  expect(build(Keypair.generate().publicKey.toBase58())).not.toThrow();
  for (const payer of ["", "me", treasuryOwner.toBase58(), feePayer.publicKey.toBase58(), account]) {
    expect(build(payer), payer).toThrow(/^payer: must be/u);
  }
});

function lamports(): bigint {
  return local.chain.svm.getBalance(address(scene.feePayer.publicKey.toBase58())) ?? 0n;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
