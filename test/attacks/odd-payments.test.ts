import {
  createApproveInstruction,
  createCloseAccountInstruction,
  createTransferInstruction,
} from "@solana/spl-token";
import {
  AddressLookupTableProgram,
  Connection,
  Keypair,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { rpc } from "../localchain/paying.ts";
import type { Agent, World } from "../support/world.ts";
import { batch, memo, MINT, payTo, transfer } from "./instructions.ts";
import {
  callWith,
  expectAccount,
  expectBought,
  expectNothing,
  expectRefused,
  offerFor,
  PRICE,
  startScene,
  type Offer,
} from "./scene.ts";

let world: World;
let connection: Connection;
let agent: Agent;
let offer: Offer;
beforeAll(async () => {
  world = await startScene();
  connection = new Connection(world.chain.url, { commitment: "confirmed", wsEndpoint: world.chain.wsUrl });
  await setUp();
});
afterEach(async () => {
  expect(await world.violations()).toEqual([]);
  await setUp();
});
afterAll(() => world.close());

async function setUp(): Promise<void> {
  agent = await world.agent();
  offer = await offerFor(world, agent);
}

const usdcOf = (owner: Agent) => world.chain.controls.usdcAccount(owner.wallet.publicKey);

/** The proof buys the call once, and whatever was over `PRICE` stays. */
async function expectOnePurchase(tx: string, surplus = 0n): Promise<void> {
  const first = await callWith(world, agent, tx, offer.quoteId);
  expectBought(first, tx, offer.quoteId);
  expect((await callWith(world, agent, tx, offer.quoteId)).body).toEqual(first.body);
  await expectAccount(world, agent, { balance: surplus, receipts: 1 });
}

describe("a payment in an unusual transaction", () => {
  it("buys the call once with the transfer before the memo", async () => {
    await expectOnePurchase(await world.send(agent, [transfer(world, agent, PRICE), memo(offer.memo)]));
  });

  it("buys the call once with Transfer instead of TransferChecked", async () => {
    const plain = createTransferInstruction(usdcOf(agent), payTo(world), agent.wallet.publicKey, PRICE);
    await expectOnePurchase(await world.send(agent, [memo(offer.memo), plain]));
  });

  it("buys the call once with several transfers, which are summed", async () => {
    const parts = [transfer(world, agent, 600n), transfer(world, agent, 300n), transfer(world, agent, 107n)];
    await expectOnePurchase(await world.send(agent, [memo(offer.memo), ...parts]), 7n);
  });

  it("buys the call once with one batch instruction of the Token program", async () => {
    const both = batch(transfer(world, agent, 400n), transfer(world, agent, 600n));
    await expectOnePurchase(await world.send(agent, [memo(offer.memo), both]));
  });

  it("credits a batch that is too small with the amount it moved", async () => {
    const both = batch(transfer(world, agent, 400n), transfer(world, agent, 599n));
    const tx = await world.send(agent, [memo(offer.memo), both]);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /\$0\.000999 was sent, the price is \$0\.001/,
    );
    await expectAccount(world, agent, { balance: 999n, receipts: 0 });
  });

  it("buys the call once with the treasury's address in a lookup table", async () => {
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority: agent.wallet.publicKey,
      payer: agent.wallet.publicKey,
      recentSlot: await connection.getSlot("confirmed"),
    });
    const addresses = [MINT, payTo(world)];
    const authority = {
      lookupTable: table,
      authority: agent.wallet.publicKey,
      payer: agent.wallet.publicKey,
    };
    await world.send(agent, [
      create,
      AddressLookupTableProgram.extendLookupTable({ ...authority, addresses }),
    ]);
    const { value: lookupTable } = await connection.getAddressLookupTable(table);
    if (!lookupTable) throw new Error("the lookup table exists");
    const { blockhash } = await connection.getLatestBlockhash();
    const instructions = [memo(offer.memo), transfer(world, agent, PRICE)];
    const message = new TransactionMessage({
      payerKey: agent.wallet.publicKey,
      recentBlockhash: blockhash,
      instructions,
    });
    const transaction = new VersionedTransaction(message.compileToV0Message([lookupTable]));
    transaction.sign([agent.wallet]);
    expect(transaction.message.staticAccountKeys.map(String)).not.toContain(payTo(world).toBase58());
    const tx = await connection.sendTransaction(transaction, { skipPreflight: true });
    world.chain.chain.advance(2);
    await expectOnePurchase(tx);
  });

  it("buys the call once in a legacy transaction", async () => {
    const transaction = new Transaction().add(memo(offer.memo), transfer(world, agent, PRICE));
    const tx = await connection.sendTransaction(transaction, [agent.wallet], { skipPreflight: true });
    world.chain.chain.advance(2);
    await expectOnePurchase(tx);
  });

  it("buys the call once with a delegate as the transfer's authority", async () => {
    const delegate = Keypair.generate();
    const approve = createApproveInstruction(
      usdcOf(agent),
      delegate.publicKey,
      agent.wallet.publicKey,
      PRICE,
    );
    await world.send(agent, [approve]);
    const tx = await world.send(
      agent,
      [memo(offer.memo), transfer(world, agent, PRICE, payTo(world), delegate)],
      delegate,
    );
    await expectOnePurchase(tx);
  });

  it("buys the call once from an account emptied and closed in the same transaction", async () => {
    const friend = world.chain.controls.createWallet({ microUsd: 0n });
    await world.send(agent, [
      transfer(world, agent, 1_000_000_000n - PRICE, world.chain.controls.usdcAccount(friend.publicKey)),
    ]);
    const close = createCloseAccountInstruction(
      usdcOf(agent),
      agent.wallet.publicKey,
      agent.wallet.publicKey,
    );
    await expectOnePurchase(
      await world.send(agent, [memo(offer.memo), transfer(world, agent, PRICE), close]),
    );
  });

  it("buys the call once when another wallet pays: the quote names the account", async () => {
    const sponsor = await world.agent();
    const tx = await world.send(sponsor, [memo(offer.memo), transfer(world, sponsor, PRICE)]);
    expectRefused(await callWith(world, sponsor, tx, offer.quoteId), /issued to another account/);
    await expectNothing(world, sponsor);
    await expectOnePurchase(tx);
  });
});

describe("a transaction with two signers", () => {
  const reported = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };

  /** Both sign: the fee payer first. */
  async function payWithTwoSigners(): Promise<[first: string, second: string]> {
    const feePayer = world.chain.controls.createWallet();
    const { blockhash } = await connection.getLatestBlockhash();
    const instructions = [memo(offer.memo), transfer(world, agent, PRICE)];
    const message = new TransactionMessage({
      payerKey: feePayer.publicKey,
      recentBlockhash: blockhash,
      instructions,
    });
    const transaction = new VersionedTransaction(message.compileToV0Message());
    transaction.sign([feePayer, agent.wallet]);
    const first = await connection.sendTransaction(transaction, { skipPreflight: true });
    world.chain.chain.advance(2);
    const record = await rpc(world.chain, "getTransaction", first, reported);
    const [, second] = (record as { transaction: { signatures: string[] } }).transaction.signatures;
    if (second === undefined) throw new Error("there are two signatures");
    return [first, second];
  }

  it("is identified by its first signature only", async () => {
    const [first, second] = await payWithTwoSigners();
    await expectOnePurchase(first);
    expectRefused(await callWith(world, agent, second, offer.quoteId), /not on the chain yet/);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("is not credited twice when an endpoint finds it by its second signature", async () => {
    const [first, second] = await payWithTwoSigners();
    const result = await rpc(world.chain, "getTransaction", first, reported);
    world.chain.faults.add({
      method: "getTransaction",
      fault: { kind: "result", result: result as never },
      calls: 1,
    });
    expectRefused(
      await callWith(world, agent, second, offer.quoteId),
      /not the transaction's id; send its first signature/,
    );
    await expectOnePurchase(first);
  });
});

describe("a payment that an endpoint reports incorrectly", () => {
  it("buys nothing when the response is about another transaction", async () => {
    const other = await world.agent();
    const otherOffer = await offerFor(world, other);
    const paid = await world.pay(other, PRICE, otherOffer.memo);
    const result = await rpc(world.chain, "getTransaction", paid, {
      encoding: "json",
      commitment: "confirmed",
      maxSupportedTransactionVersion: 1,
    });
    const failed = await world.send(agent, [memo(offer.memo), transfer(world, agent, 2_000_000_000n)]);
    world.chain.faults.add({
      method: "getTransaction",
      fault: { kind: "result", result: result as never },
      calls: 1,
    });
    const answer = await callWith(world, agent, failed, offer.quoteId);
    expectRefused(answer, /Solana network cannot be asked/, "UNAVAILABLE", 503);
    expectRefused(await callWith(world, agent, failed, offer.quoteId), /failed on the chain/);
    await expectNothing(world, agent);
    await expectNothing(world, other);
  });

  it("buys nothing while a large payment can still be forked away", async () => {
    const careful = await startScene({ FINALIZED_ABOVE_MICROUSD: "1000", PAYMENT_WAIT_MS: "100" });
    try {
      const buyer = await careful.agent();
      const quoted = await offerFor(careful, buyer);
      const tx = await careful.pay(buyer, PRICE, quoted.memo);
      expectRefused(
        await callWith(careful, buyer, tx, quoted.quoteId),
        /must be finalized/,
        "PAYMENT_PENDING",
        503,
      );
      careful.chain.chain.drop(tx);
      expectRefused(await callWith(careful, buyer, tx, quoted.quoteId), /not on the chain yet/);
      await expectNothing(careful, buyer);
      const again = await careful.pay(buyer, PRICE, quoted.memo);
      careful.chain.chain.advance(40);
      expectBought(await callWith(careful, buyer, again, quoted.quoteId), again, quoted.quoteId);
      await expectAccount(careful, buyer, { balance: 0n, receipts: 1 });
      expect(await careful.violations()).toEqual([]);
    } finally {
      await careful.close();
    }
  });
});
