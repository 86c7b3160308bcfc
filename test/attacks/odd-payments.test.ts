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
  type AddressLookupTableAccount,
} from "@solana/web3.js";
import { base58 } from "@scure/base";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { batch, memo, MINT, payTo, reportOnce, transfer } from "./instructions.ts";
import { buyer, expectRefused, payer, PRICE, useScene, type Buyer } from "./scene.ts";

const world = useScene();
let connection: Connection;
let by: Buyer;
beforeAll(() => {
  connection = new Connection(world.chain.url, { commitment: "confirmed", wsEndpoint: world.chain.wsUrl });
});
beforeEach(async () => {
  by = await buyer(world);
});

const usdc = () => world.chain.controls.usdcAccount(by.agent.wallet.publicKey);
const move = (amount = PRICE, to = payTo(world), ...more: [Keypair?]) =>
  transfer(world, by.agent, amount, to, ...more);
const pays = (...instructions: Parameters<Buyer["send"]>[0]) =>
  by.send([memo(by.offer.memo), ...instructions]);

/** The proof buys the call once, and whatever was over `PRICE` stays. */
async function expectOnePurchase(tx: string, surplus = 0n): Promise<void> {
  const first = await by.expectBought(tx);
  expect((await by.prove(tx)).body).toEqual(first.body);
  await by.expectAccount(surplus, 1);
}

async function sendVersioned(signers: Keypair[], tables?: AddressLookupTableAccount[]) {
  const [{ publicKey: payerKey }] = signers as [Keypair];
  const { blockhash: recentBlockhash } = await connection.getLatestBlockhash();
  const message = { payerKey, recentBlockhash, instructions: [memo(by.offer.memo), move()] };
  const transaction = new VersionedTransaction(new TransactionMessage(message).compileToV0Message(tables));
  transaction.sign(signers);
  const tx = await connection.sendTransaction(transaction, { skipPreflight: true });
  world.chain.chain.advance(2);
  return { tx, transaction };
}

describe("a payment in an unusual transaction", () => {
  it("buys the call once with the transfer before the memo", async () => {
    await expectOnePurchase(await by.send([move(), memo(by.offer.memo)]));
  });

  it("buys the call once with Transfer instead of TransferChecked", async () => {
    const plain = createTransferInstruction(usdc(), payTo(world), by.agent.wallet.publicKey, PRICE);
    await expectOnePurchase(await pays(plain));
  });

  it("buys the call once with several transfers, which are summed", async () => {
    await expectOnePurchase(await pays(move(600n), move(300n), move(107n)), 7n);
  });

  it("buys the call once with one batch instruction of the Token program", async () => {
    await expectOnePurchase(await pays(batch(move(400n), move(600n))));
  });

  it("credits a batch that is too small with the amount it moved", async () => {
    await by.expectRefused(
      await pays(batch(move(400n), move(599n))),
      /\$0\.000999 was sent, the price is \$0\.001/,
    );
    await by.expectAccount(999n, 0);
  });

  it("buys the call once with the treasury's address in a lookup table", async () => {
    const owner = { authority: by.agent.wallet.publicKey, payer: by.agent.wallet.publicKey };
    const recentSlot = await connection.getSlot("confirmed");
    const [create, lookupTable] = AddressLookupTableProgram.createLookupTable({ ...owner, recentSlot });
    const addresses = [MINT, payTo(world)];
    const extended = AddressLookupTableProgram.extendLookupTable({ ...owner, lookupTable, addresses });
    await by.send([create, extended]);
    const { value: table } = await connection.getAddressLookupTable(lookupTable);
    if (!table) throw new Error("the lookup table exists");
    const { tx, transaction } = await sendVersioned([by.agent.wallet], [table]);
    expect(transaction.message.staticAccountKeys.map(String)).not.toContain(payTo(world).toBase58());
    await expectOnePurchase(tx);
  });

  it("buys the call once in a legacy transaction", async () => {
    const transaction = new Transaction().add(memo(by.offer.memo), move());
    const tx = await connection.sendTransaction(transaction, [by.agent.wallet], { skipPreflight: true });
    world.chain.chain.advance(2);
    await expectOnePurchase(tx);
  });

  it("buys the call once with a delegate as the transfer's authority", async () => {
    const delegate = Keypair.generate();
    await by.send([createApproveInstruction(usdc(), delegate.publicKey, by.agent.wallet.publicKey, PRICE)]);
    const instructions = [memo(by.offer.memo), move(PRICE, payTo(world), delegate)];
    await expectOnePurchase(await by.send(instructions, delegate));
  });

  it("buys the call once from an account emptied and closed in the same transaction", async () => {
    const friend = world.chain.controls.createWallet({ microUsd: 0n });
    await by.send([move(1_000_000_000n - PRICE, world.chain.controls.usdcAccount(friend.publicKey))]);
    const { publicKey } = by.agent.wallet;
    await expectOnePurchase(await pays(move(), createCloseAccountInstruction(usdc(), publicKey, publicKey)));
  });

  it("buys the call once when another wallet pays: the quote names the account", async () => {
    const sponsor = await buyer(world);
    const tx = await sponsor.send([memo(by.offer.memo), transfer(world, sponsor.agent, PRICE)]);
    expectRefused(await sponsor.prove(tx, {}, by.offer), /issued to another account/);
    await sponsor.expectNothing();
    await expectOnePurchase(tx);
  });
});

describe("a transaction with two signers", () => {
  /** Both sign: the fee payer first. */
  async function payWithTwoSigners(): Promise<[first: string, second: string]> {
    const { tx, transaction } = await sendVersioned([world.chain.controls.createWallet(), by.agent.wallet]);
    return [tx, base58.encode(transaction.signatures[1] ?? new Uint8Array())];
  }

  it("is identified by its first signature only", async () => {
    const [first, second] = await payWithTwoSigners();
    await expectOnePurchase(first);
    await by.expectRefused(second, /not on the chain yet/);
    await by.expectOneCall();
  });

  it("is not credited twice when an endpoint finds it by its second signature", async () => {
    const [first, second] = await payWithTwoSigners();
    await reportOnce(world, first);
    await by.expectRefused(second, /not the transaction's id; send its first signature/);
    await expectOnePurchase(first);
  });
});

it("buys nothing when the response is about another transaction", async () => {
  const other = await payer(world);
  await reportOnce(world, other.tx);
  const failed = await pays(move(2_000_000_000n));
  await by.expectRefused(failed, /Solana network cannot be asked/, "UNAVAILABLE", 503);
  await by.expectRefused(failed, /failed on the chain/);
  await by.expectNothing();
  await other.by.expectNothing();
});

describe("a large payment", () => {
  const careful = useScene({ FINALIZED_ABOVE_MICROUSD: "1000", PAYMENT_WAIT_MS: "100" });

  it("buys nothing while a large payment can still be forked away", async () => {
    const { by: large, tx } = await payer(careful);
    await large.expectRefused(tx, /must be finalized/, "PAYMENT_PENDING", 503);
    careful.chain.chain.drop(tx);
    await large.expectRefused(tx, /not on the chain yet/);
    await large.expectNothing();
    const again = await large.pay();
    careful.chain.chain.advance(40);
    await large.expectBought(again);
    await large.expectOneCall();
  });
});
