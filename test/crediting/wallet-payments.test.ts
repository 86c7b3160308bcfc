import { createTransferInstruction } from "@solana/spl-token";
import {
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionMessage,
  VersionedTransaction,
  type TransactionInstruction,
} from "@solana/web3.js";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { pastOffer } from "../attacks/scene.ts";
import { pageClient, signIn } from "../support/console.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";
import { PRICE } from "./fixture.ts";
import {
  AMOUNT,
  DepositState,
  soon,
  useDeposits,
  type Deposit,
  type DepositClient,
} from "./deposit-fixture.ts";
import { transactionOf } from "./solana-pay.ts";

/** Transactions that wallets sign and that are sent for them. */
const scene = useDeposits();
let depositClient: DepositClient;
let agent: Agent;
let deposit: Deposit;
beforeAll(() => {
  depositClient = scene.depositClient();
});
beforeEach(async () => {
  agent = await scene.agent();
  deposit = await depositClient.begin(agent);
});

function signed(transaction: Uint8Array, wallet: Keypair = agent.wallet): Uint8Array {
  const read = VersionedTransaction.deserialize(transaction);
  read.sign([wallet]);
  return read.serialize();
}

/** The transaction with other instructions, signed. */
function changed(
  transaction: Uint8Array,
  change: (instructions: TransactionInstruction[]) => TransactionInstruction[],
): Uint8Array {
  const message = TransactionMessage.decompile(VersionedTransaction.deserialize(transaction).message);
  const other = new TransactionMessage({
    payerKey: message.payerKey,
    recentBlockhash: message.recentBlockhash,
    instructions: change(message.instructions),
  });
  return signed(new VersionedTransaction(other.compileToV0Message()).serialize());
}

describe("the transaction of a deposit", () => {
  it("is signed and paid for by the wallet, sent, confirmed and credited", async () => {
    const transaction = await depositClient.build(agent, deposit);
    const { message } = VersionedTransaction.deserialize(transaction);
    expect(message.version).toBe(0);
    const { instructions, payerKey } = TransactionMessage.decompile(message);
    expect(payerKey.equals(agent.wallet.publicKey)).toBe(true);
    // Solana Pay: the memo right before the transfer, which names the reference.
    expect(instructions.at(-2)?.data.toString()).toBe(deposit.memo);
    expect(instructions.at(-1)?.keys.at(-1)).toEqual({
      pubkey: new PublicKey(deposit.reference),
      isSigner: false,
      isWritable: false,
    });
    const tx = await depositClient.send(agent, signed(transaction), deposit.depositId);
    expect(await depositClient.get(agent, deposit)).toMatchObject({
      state: DepositState.SEEN,
      txSignature: tx,
    });
    scene.confirm();
    expect(await scene.depositClient().get(agent, deposit)).toMatchObject({
      state: DepositState.CONFIRMED,
      txSignature: tx,
    });
    // Sent again it is the same one.
    expect(await depositClient.send(agent, signed(transaction))).toBe(tx);
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT);
    expect(await depositClient.get(agent, deposit)).toMatchObject({
      state: DepositState.CREDITED,
      txSignature: tx,
    });
    expect(await depositClient.send(agent, signed(transaction))).toBe(tx);
    await expect(depositClient.build(agent, deposit)).rejects.toThrow(/deposit_id: was credited before/);
    expect(await scene.balance(agent)).toBe(AMOUNT);
  });

  it("accepts another wallet as the payer", async () => {
    const other = await scene.agent();
    const transaction = await depositClient.build(agent, deposit, other.wallet.publicKey.toBase58());
    await depositClient.send(agent, signed(transaction, other.wallet));
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT);
  });

  it.each([
    ["no address", () => "l".repeat(40), /payer: must be a Solana address/],
    ["an address that cannot sign", () => scene.payTo, /payer: must be a wallet that can sign/],
    ["the treasury", () => scene.treasury.publicKey.toBase58(), /payer: must be your own wallet/],
    ["a wallet without USDC", () => wallet(), /payer: has no token account for USDC/],
    ["a wallet with too little", () => wallet(AMOUNT - 1n), /payer: holds \$1\.499999 of USDC, and \$1\.50/],
    ["a wallet without SOL", () => wallet(AMOUNT, 0n), /payer: holds 0 SOL, .* needs 0\.00089668 SOL/],
    ["a wallet with hardly any SOL", () => wallet(AMOUNT, 896_000n), /payer: holds 0\.000896 SOL/],
  ])("is not built for %s", async (_what, payer, message) => {
    await expect(depositClient.build(agent, deposit, payer())).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
    await expect(depositClient.build(agent, deposit, payer())).rejects.toThrow(message);
  });

  it("is not built while the chain is unreachable", async () => {
    for (const faults of [scene.chain.faults, scene.secondFaults])
      faults.add({ method: "*", fault: { kind: "http", status: 503 } });
    await expect(depositClient.build(agent, deposit)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(depositClient.build(agent, { depositId: "dep_1" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});

function wallet(microUsd?: bigint, lamports = 1_000_000_000n): string {
  const made = scene.chain.controls.createWallet({ lamports, ...(microUsd !== undefined && { microUsd }) });
  return made.publicKey.toBase58();
}

it("is built by the console's endpoint for a session", async () => {
  const page = (await signIn(scene, agent.wallet)).client(DepositService);
  const { deposit: started } = await page.createDeposit({ amountUsdcMicrousd: 10_000n });
  const { depositId = "" } = started ?? {};
  const payer = agent.wallet.publicKey.toBase58();
  const { transaction } = await page.buildDepositTransaction({ depositId, payer });
  const { txSignature } = await page.sendTransaction({ transaction: signed(transaction), depositId });
  scene.finalize();
  const { CREDITED } = DepositState;
  await expect
    .poll(async () => (await page.getDeposit({ depositId })).deposit, soon)
    .toMatchObject({ state: CREDITED, txSignature });
  expect((await page.listDeposits({})).items).toMatchObject([
    { depositId, creditedUsdcMicrousd: 10_000n },
    deposit,
  ]);
  await expect(page.createDeposit({ amountUsdcMicrousd: 9_999n })).rejects.toThrow(/amount_usdc_microusd/);
  await expect(page.getDeposit({ depositId: "dep_1" })).rejects.toThrow(
    /there is no deposit of yours with this id/,
  );
  await expect(pageClient(scene.gateway, DepositService).getDeposit({ depositId })).rejects.toThrow(
    /session|sign/i,
  );
});

describe("the transaction of a quote", () => {
  it("buys the call of the quote", async () => {
    const { quote_id: quoteId } = await scene.gateway.quote(agent);
    const tx = await depositClient.send(agent, signed(await depositClient.build(agent, { quoteId })));
    scene.confirm();
    const bought = await scene.gateway.buy(agent, xPayment(tx, quoteId));
    expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    expect(bought.body.receipt).toMatchObject({ tx_signature: tx, debited_usdc_microusd: Number(PRICE) });
  });

  it("is built only for a valid quote of the same account", async () => {
    const stranger = await scene.agent();
    const { quote_id: theirs } = await scene.gateway.quote(stranger);
    for (const quoteId of [theirs, "qt_2NEpo7TZRRrLZSi2U", "dep_1"])
      await expect(depositClient.build(agent, { quoteId })).rejects.toThrow(
        /quote_id: names no quote of this account/,
      );
    const { quoteId } = pastOffer(scene.postgres.sealingKeys, agent, 301);
    await expect(depositClient.build(agent, { quoteId })).rejects.toMatchObject({ code: "QUOTE_EXPIRED" });
    const foreign = await depositClient.build(
      stranger,
      { quoteId: theirs },
      agent.wallet.publicKey.toBase58(),
    );
    await expect(depositClient.send(agent, signed(foreign))).rejects.toThrow(
      /transaction: names no quote of this account/,
    );
  });
});

describe("transactions of a deposit that are not sent", () => {
  const UNKNOWN = `svc:dep_${"0".repeat(32)}`;
  let good: Uint8Array;
  /** The transaction with another transfer. */
  const paying = (transfer: (one: TransactionInstruction) => TransactionInstruction) =>
    changed(good, (all) => [...all.slice(0, 3), transfer(all[3]!)]);
  beforeEach(async () => {
    good = await depositClient.build(agent, deposit);
  });

  it.each([
    ["bytes", () => Buffer.from("no transaction"), /no Solana transaction/],
    ["something behind it", () => Buffer.concat([signed(good), Buffer.of(0)]), /no Solana transaction/],
    ["no signature", () => good, /lacks the signature of .*; have the wallet sign it/],
    ["another's signature", () => Buffer.concat([OTHER_SIGNATURE, good.subarray(65)]), /lacks the signature/],
    ["no memo", () => changed(good, (all) => all.filter((_, n) => n !== 2)), /instructions must be/],
    ["a second transfer", () => changed(good, (all) => [...all, all[3]!]), /instructions must be/],
    ["a transfer of SOL", () => changed(good, (all) => [...all, ofSol()]), /calls 1{32}/],
    ["a transfer to somebody", () => paying(toSomebody), /must go to the treasury/],
    ["a transfer of another kind", () => paying(unchecked), /must be TransferChecked/],
    ["a transfer of nothing", () => paying(ofNothing), /moves nothing/],
    ["a memo that is none of ours", () => changed(good, (all) => withMemo(all, "thanks")), /memo must be/],
    ["the memo of no deposit", () => changed(good, (all) => withMemo(all, UNKNOWN)), /no deposit of yours/],
  ])("%s", async (_what, forged, message) => {
    const sent = () => scene.chain.faults.callCount("sendTransaction");
    const before = sent();
    await expect(depositClient.send(agent, forged())).rejects.toThrow(message);
    expect(sent()).toBe(before);
  });

  it("refuses a transaction of another deposit or account", async () => {
    const other = await depositClient.begin(agent);
    await expect(depositClient.send(agent, signed(good), other.depositId)).rejects.toThrow(
      /deposit_id: is not the one that the transaction's memo names/,
    );
    await expect(depositClient.send(await scene.agent(), signed(good))).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("returns the network's reason when it rejects a transaction", async () => {
    const send = (transaction: Uint8Array) => depositClient.send(agent, transaction);
    const expensive = await depositClient.begin(agent, 1_000_000_000n);
    const all = signed(await depositClient.build(agent, expensive));
    await scene.transfer(agent, { amount: 1n });
    await expect(send(all)).rejects.toThrow(
      /the network refuses it: the payer's token account holds too little USDC; nothing was sent/,
    );
    scene.chain.chain.advance(200);
    await expect(send(signed(good))).rejects.toThrow(/its blockhash has expired/);
    for (const faults of [scene.chain.faults, scene.secondFaults])
      faults.add({ method: "*", fault: { kind: "http", status: 503 } });
    await expect(send(signed(good))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/may have sent it: send the same transaction again/),
    });
    for (const faults of [scene.chain.faults, scene.secondFaults]) faults.clear();
    expect((await depositClient.get(agent, deposit)).state).toBe(DepositState.WAITING);
  });

  it("sends through the next node when one cannot send", async () => {
    scene.chain.faults.add({ method: "sendTransaction", fault: { kind: "http", status: 503 } });
    await depositClient.send(agent, signed(good));
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT);
  });

  it("reports no rejection while a silent node may have sent the transaction; repeated, it pays once", async () => {
    const refusal = { kind: "rpc_error", code: -32002, data: { err: "BlockhashNotFound" } } as const;
    scene.chain.faults.add({ method: "sendTransaction", fault: { kind: "delay", ms: 1_000 } });
    scene.secondFaults.add({ method: "sendTransaction", fault: refusal });
    await expect(depositClient.send(agent, signed(good))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(
        /may have sent it .*blockhash.*send the same transaction again, and do not sign another/,
      ),
    });
    for (const faults of [scene.chain.faults, scene.secondFaults]) faults.clear();
    await depositClient.send(agent, signed(good));
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT);
  });
});

const OTHER_SIGNATURE = Buffer.concat([Buffer.of(1), Buffer.alloc(64, 7)]);

function ofSol(): TransactionInstruction {
  const [fromPubkey, toPubkey] = [agent.wallet.publicKey, Keypair.generate().publicKey];
  return SystemProgram.transfer({ fromPubkey, toPubkey, lamports: 1 });
}

/** The same transfer to another owner's token account. */
function toSomebody({ keys, ...transfer }: TransactionInstruction): TransactionInstruction {
  const pubkey = scene.chain.controls.usdcAccount(Keypair.generate().publicKey);
  return { ...transfer, keys: keys.map((key, n) => (n === 2 ? { ...key, pubkey } : key)) };
}

function unchecked(): TransactionInstruction {
  const source = scene.chain.controls.usdcAccount(agent.wallet.publicKey);
  return createTransferInstruction(source, new PublicKey(scene.payTo), agent.wallet.publicKey, AMOUNT);
}

function ofNothing({ data, ...transfer }: TransactionInstruction): TransactionInstruction {
  return { ...transfer, data: Buffer.concat([data.subarray(0, 1), Buffer.alloc(8), data.subarray(9)]) };
}

function withMemo(all: TransactionInstruction[], text: string): TransactionInstruction[] {
  return all.map((each, n) => (n === 2 ? { ...each, data: Buffer.from(text) } : each));
}

describe("the transfer request", () => {
  it("contains everything that a wallet needs", async () => {
    const connection = new Connection(scene.chain.url, "confirmed");
    const unsigned = await transactionOf(deposit.solanaPayUrl, agent.wallet.publicKey, connection);
    unsigned.sign(agent.wallet);
    const tx = await connection.sendRawTransaction(unsigned.serialize());
    scene.confirm();
    expect(await depositClient.get(agent, deposit)).toMatchObject({
      state: DepositState.CONFIRMED,
      txSignature: tx,
    });
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT);
  });
});

describe("a deposit as the proof of a call", () => {
  const proofs = (tx: string, quoteId: string) => [
    { headers: xPayment(tx, quoteId) },
    { body: { payment_proof: { tx_ref: tx, network: "solana-mainnet", quote_id: quoteId } } },
    { body: { payment_proof: { tx_ref: tx, network: "solana-mainnet", memo: deposit.memo } } },
    { body: { payment_proof: { tx_ref: tx, network: "solana-mainnet", quote_id: deposit.depositId } } },
    { headers: xPayment(tx, deposit.depositId) },
  ];

  it("refuses a deposit's transfer as a proof with the reason, and keeps it a deposit", async () => {
    const { quote_id: quoteId } = await scene.gateway.quote(agent);
    const tx = await scene.transfer(agent, {
      amount: AMOUNT,
      memo: deposit.memo,
      reference: deposit.reference,
    });
    const attempt = async () => {
      for (const { headers, body } of proofs(tx, quoteId)) {
        const answer = await scene.gateway.buy(agent, headers, body);
        expect(answer.body).toMatchObject({
          code: "INVALID_PAYMENT",
          message: expect.stringMatching(/a deposit, which/),
        });
        expect(answer.body.quote).toBeUndefined();
      }
    };
    await attempt();
    expect(await scene.balance(agent)).toBe(0n);
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT);
    await attempt();
    expect(await scene.balance(agent)).toBe(AMOUNT);
    expect((await depositClient.get(agent, deposit)).state).toBe(DepositState.CREDITED);
    expect((await scene.gateway.buy(agent)).body.receipt.paid_by).toBe("balance");
  });

  it("treats a transfer with the deposit's reference and a quote's memo as a payment of the quote", async () => {
    const quote = await scene.gateway.quote(agent);
    const { reference } = deposit;
    const tx = await scene.transfer(agent, { amount: PRICE, memo: memoOf(quote), reference });
    expect((await scene.gateway.buy(agent, xPayment(tx, quote.quote_id))).status).toBe(200);
    expect(await depositClient.get(agent, deposit)).toMatchObject({
      state: DepositState.UNASSIGNED,
      creditedUsdcMicrousd: 0n,
    });
    scene.finalize();
    expect(await scene.depositClient().get(agent, deposit)).toMatchObject({ state: DepositState.UNASSIGNED });
    expect(await scene.balance(agent)).toBe(0n);
  });
});
