import {
  AuthorityType,
  createAssociatedTokenAccountIdempotentInstruction,
  createCloseAccountInstruction,
  createInitializeAccount3Instruction,
  createMintToInstruction,
  createSetAuthorityInstruction,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from "@solana/spl-token";
import { Keypair, SystemProgram, type Signer, type TransactionInstruction } from "@solana/web3.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { USDC_AUTHORITY } from "../../src/localchain/index.ts";
import type { Agent, World } from "../support/world.ts";
import { memo, MINT, otherToken, payTo, transfer, transferOut } from "./instructions.ts";
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
beforeAll(async () => {
  world = await startScene();
});
afterEach(async () => {
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

type Attack = (
  agent: Agent,
  offer: Offer,
) => TransactionInstruction[] | { instructions: TransactionInstruction[]; signers: Signer[] };

const usdcOf = (agent: Agent) => world.chain.controls.usdcAccount(agent.wallet.publicKey);
const stranger = () => world.chain.controls.createWallet({ microUsd: 0n });

/** Transactions that carry the right memo and bring the treasury nothing. */
const ATTACKS: [string, RegExp, Attack][] = [
  [
    "a transfer that failed",
    /the transaction failed on the chain/,
    (agent, offer) => [memo(offer.memo), transfer(world, agent, 2_000_000_000n)],
  ],
  [
    "a transfer to another wallet",
    /does not pay the treasury; send USDC to the token account/,
    (agent, offer) => [
      memo(offer.memo),
      transfer(world, agent, PRICE, world.chain.controls.usdcAccount(stranger().publicKey)),
    ],
  ],
  [
    "a transfer to oneself",
    /does not pay the treasury/,
    (agent, offer) => [memo(offer.memo), transfer(world, agent, PRICE, usdcOf(agent))],
  ],
  ["a memo alone", /does not pay the treasury/, (_agent, offer) => [memo(offer.memo)]],
  [
    "a transfer of nothing",
    /balance did not grow/,
    (agent, offer) => [memo(offer.memo), transfer(world, agent, 0n)],
  ],
  [
    "a transfer from the treasury to itself",
    /balance did not grow/,
    (_agent, offer) => ({
      instructions: [memo(offer.memo), transferOut(world, PRICE, payTo(world))],
      signers: [world.treasury],
    }),
  ],
  [
    "a transfer out of the treasury",
    /balance did not grow/,
    (agent, offer) => ({
      instructions: [memo(offer.memo), transferOut(world, PRICE, usdcOf(agent))],
      signers: [world.treasury],
    }),
  ],
  [
    "a transfer that comes back in the same transaction",
    /balance did not grow/,
    (agent, offer) => ({
      instructions: [
        memo(offer.memo),
        transfer(world, agent, PRICE),
        transferOut(world, PRICE, usdcOf(agent)),
      ],
      signers: [world.treasury],
    }),
  ],
  [
    "a transfer of which a part comes back",
    /do not add up/,
    (agent, offer) => ({
      instructions: [
        memo(offer.memo),
        transfer(world, agent, PRICE * 3n),
        transferOut(world, PRICE, usdcOf(agent)),
      ],
      signers: [world.treasury],
    }),
  ],
  [
    "USDC minted into the treasury",
    /do not add up/,
    (_agent, offer) => ({
      instructions: [
        memo(offer.memo),
        createMintToInstruction(MINT, payTo(world), USDC_AUTHORITY.publicKey, PRICE),
      ],
      signers: [USDC_AUTHORITY],
    }),
  ],
  [
    "a full token account handed over to the treasury's owner",
    /does not pay the treasury/,
    (agent, offer) => [
      memo(offer.memo),
      createSetAuthorityInstruction(
        usdcOf(agent),
        agent.wallet.publicKey,
        AuthorityType.AccountOwner,
        world.treasury.publicKey,
      ),
    ],
  ],
  [
    "a transfer to a second USDC account of the treasury's owner",
    /does not pay the treasury/,
    (agent, offer) => {
      const account = Keypair.generate();
      const [fromPubkey, newAccountPubkey] = [agent.wallet.publicKey, account.publicKey];
      const create = SystemProgram.createAccount({
        fromPubkey,
        newAccountPubkey,
        lamports: 2_039_280,
        space: 165,
        programId: TOKEN_PROGRAM_ID,
      });
      const initialize = createInitializeAccount3Instruction(
        newAccountPubkey,
        MINT,
        world.treasury.publicKey,
      );
      return {
        instructions: [memo(offer.memo), create, initialize, transfer(world, agent, PRICE, newAccountPubkey)],
        signers: [account],
      };
    },
  ],
];

/** After a refusal the quote is as good as before: it is paid properly, once. */
async function expectStillPayable(agent: Agent, offer: Offer): Promise<void> {
  await expectNothing(world, agent);
  const tx = await world.pay(agent, PRICE, offer.memo);
  expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
  await expectAccount(world, agent, { balance: 0n, receipts: 1 });
}

describe("a transaction without a payment", () => {
  beforeAll(() => world.chain.controls.mintUsdc(world.treasury.publicKey, 10_000_000n));

  it.each(ATTACKS)("refuses %s with the reason", async (_name, reason, attack) => {
    const agent = await world.agent();
    // Some attacks leave the agent without its account.
    const payer = await world.agent();
    const offer = await offerFor(world, agent);
    const made = attack(payer, offer);
    const { instructions, signers } = Array.isArray(made) ? { instructions: made, signers: [] } : made;
    const tx = await world.send(
      payer,
      instructions,
      ...signers.map((signer) => Keypair.fromSecretKey(signer.secretKey)),
    );
    for (const _ of [1, 2]) expectRefused(await callWith(world, agent, tx, offer.quoteId), reason);
    await expectStillPayable(agent, offer);
  });

  it.each([
    ["another token of the same program", TOKEN_PROGRAM_ID, /of another token \(mint .*\); pay in USDC/],
    ["a token of Token-2022", TOKEN_2022_PROGRAM_ID, /another token program's token/],
  ])("refuses %s with the reason", async (_name, program, reason) => {
    const agent = await world.agent();
    const offer = await offerFor(world, agent);
    const token = otherToken(world, agent, PRICE, program);
    await world.send(agent, token.setUp, token.mint);
    const tx = await world.send(agent, [memo(offer.memo), token.transfer]);
    expectRefused(await callWith(world, agent, tx, offer.quoteId), reason);
    await expectStillPayable(agent, offer);
  });

  it("counts only the USDC when a transfer of another token comes with it", async () => {
    const agent = await world.agent();
    const offer = await offerFor(world, agent);
    const token = otherToken(world, agent, PRICE, TOKEN_PROGRAM_ID);
    await world.send(agent, token.setUp, token.mint);
    const tx = await world.send(agent, [memo(offer.memo), token.transfer, transfer(world, agent, 1n)]);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /\$0\.000001 was sent, the price is \$0\.001; \$0\.000001 was credited/,
    );
    await expectAccount(world, agent, { balance: 1n, receipts: 0 });
  });

  it("refuses a made-up signature after a bounded wait", async () => {
    const agent = await world.agent();
    const offer = await offerFor(world, agent);
    const answer = await callWith(world, agent, "5".repeat(87), offer.quoteId);
    expectRefused(answer, /not on the chain yet.*quote and proof stay unused/);
    expect(answer.headers.get("retry-after")).toBe("2");
    await expectStillPayable(agent, offer);
  });
});

describe("a treasury account closed and reopened in one transaction", () => {
  it("counts what a reopened treasury account gained", async () => {
    const empty = await startScene();
    try {
      const agent = await empty.agent();
      const offer = await offerFor(empty, agent);
      const account = payTo(empty);
      const owner = empty.treasury.publicKey;
      const instructions = [
        memo(offer.memo),
        createCloseAccountInstruction(account, agent.wallet.publicKey, owner),
        createAssociatedTokenAccountIdempotentInstruction(agent.wallet.publicKey, account, owner, MINT),
        transfer(empty, agent, PRICE),
      ];
      const tx = await empty.send(agent, instructions, empty.treasury);
      expectBought(await callWith(empty, agent, tx, offer.quoteId), tx, offer.quoteId);
      await expectAccount(empty, agent, { balance: 0n, receipts: 1 });
      expect(await empty.violations()).toEqual([]);
    } finally {
      await empty.close();
    }
  });
});
