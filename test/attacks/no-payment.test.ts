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
import { beforeAll, describe, expect, it } from "vitest";
import { USDC_AUTHORITY } from "../../src/localchain/index.ts";
import { memo, MINT, otherToken, payTo, transfer, transferOut } from "./instructions.ts";
import { buyer, expectRefused, PRICE, useScene, type Buyer } from "./scene.ts";

const world = useScene();

/** What follows the memo, and those who sign beside the payer. */
type Attack = (payer: Buyer) => readonly [instructions: TransactionInstruction[], signer?: Signer];

const usdcOf = ({ agent }: Buyer) => world.chain.controls.usdcAccount(agent.wallet.publicKey);
const stranger = () =>
  world.chain.controls.usdcAccount(world.chain.controls.createWallet({ microUsd: 0n }).publicKey);
const pay = ({ agent }: Buyer, amount = PRICE, to = payTo(world)) => transfer(world, agent, amount, to);

/** A second USDC account of the treasury's owner. */
function secondAccount(by: Buyer): [TransactionInstruction[], Keypair] {
  const account = Keypair.generate();
  const [fromPubkey, newAccountPubkey] = [by.agent.wallet.publicKey, account.publicKey];
  const size = { lamports: 2_039_280, space: 165, programId: TOKEN_PROGRAM_ID };
  const create = SystemProgram.createAccount({ fromPubkey, newAccountPubkey, ...size });
  const initialize = createInitializeAccount3Instruction(newAccountPubkey, MINT, world.treasury.publicKey);
  return [[create, initialize, pay(by, PRICE, newAccountPubkey)], account];
}

function handedOver(by: Buyer): TransactionInstruction {
  const [from, to] = [by.agent.wallet.publicKey, world.treasury.publicKey];
  return createSetAuthorityInstruction(usdcOf(by), from, AuthorityType.AccountOwner, to);
}

/** Transactions that carry the right memo and bring the treasury nothing. */
const ATTACKS: [string, RegExp, Attack][] = [
  ["a transfer that failed", /the transaction failed on the chain/, (by) => [[pay(by, 2_000_000_000n)]]],
  [
    "a transfer to another wallet",
    /does not pay the treasury; send USDC to the token account/,
    (by) => [[pay(by, PRICE, stranger())]],
  ],
  ["a transfer to oneself", /does not pay the treasury/, (by) => [[pay(by, PRICE, usdcOf(by))]]],
  ["a memo alone", /does not pay the treasury/, () => [[]]],
  ["a transfer of nothing", /balance did not grow/, (by) => [[pay(by, 0n)]]],
  [
    "a transfer from the treasury to itself",
    /balance did not grow/,
    () => [[transferOut(world, PRICE, payTo(world))], world.treasury],
  ],
  [
    "a transfer out of the treasury",
    /balance did not grow/,
    (by) => [[transferOut(world, PRICE, usdcOf(by))], world.treasury],
  ],
  [
    "a transfer that comes back in the same transaction",
    /balance did not grow/,
    (by) => [[pay(by), transferOut(world, PRICE, usdcOf(by))], world.treasury],
  ],
  [
    "a transfer of which a part comes back",
    /do not add up/,
    (by) => [[pay(by, PRICE * 3n), transferOut(world, PRICE, usdcOf(by))], world.treasury],
  ],
  [
    "USDC minted into the treasury",
    /do not add up/,
    () => [[createMintToInstruction(MINT, payTo(world), USDC_AUTHORITY.publicKey, PRICE)], USDC_AUTHORITY],
  ],
  [
    "a full token account handed over to the treasury's owner",
    /does not pay the treasury/,
    (by) => [[handedOver(by)]],
  ],
  ["a transfer to a second USDC account of the treasury's owner", /does not pay the treasury/, secondAccount],
];

/** After a refusal the quote is as good as before: it is paid properly, once. */
async function expectStillPayable(by: Buyer): Promise<void> {
  await by.expectNothing();
  await by.expectBought(await by.pay());
  await by.expectOneCall();
}

describe("a transaction without a payment", () => {
  beforeAll(() => world.chain.controls.mintUsdc(world.treasury.publicKey, 10_000_000n));

  it.each(ATTACKS)("refuses %s with the reason", async (_name, reason, attack) => {
    // Some attacks leave the payer without its account.
    const [by, payer] = [await buyer(world), await buyer(world)];
    const [instructions, signer] = attack(payer);
    const signers = signer ? [Keypair.fromSecretKey(signer.secretKey)] : [];
    const tx = await payer.send([memo(by.offer.memo), ...instructions], ...signers);
    for (const _ of [1, 2]) await by.expectRefused(tx, reason);
    await expectStillPayable(by);
  });

  it.each([
    ["another token of the same program", TOKEN_PROGRAM_ID, /of another token \(mint .*\); pay in USDC/],
    ["a token of Token-2022", TOKEN_2022_PROGRAM_ID, /another token program's token/],
  ])("refuses %s with the reason", async (_name, program, reason) => {
    const by = await buyer(world);
    const token = otherToken(world, by.agent, PRICE, program);
    await by.send(token.setUp, token.mint);
    await by.expectRefused(await by.send([memo(by.offer.memo), token.transfer]), reason);
    await expectStillPayable(by);
  });

  it("counts only the USDC when a transfer of another token comes with it", async () => {
    const by = await buyer(world);
    const token = otherToken(world, by.agent, PRICE, TOKEN_PROGRAM_ID);
    await by.send(token.setUp, token.mint);
    const tx = await by.send([memo(by.offer.memo), token.transfer, pay(by, 1n)]);
    await by.expectRefused(tx, /\$0\.000001 was sent, the price is \$0\.001; \$0\.000001 was credited/);
    await by.expectAccount(1n, 0);
  });

  it("refuses a made-up signature after a bounded wait", async () => {
    const by = await buyer(world);
    const answer = await by.prove("5".repeat(87));
    expectRefused(answer, /not on the chain yet.*quote and proof stay unused/);
    expect(answer.headers.get("retry-after")).toBe("2");
    await expectStillPayable(by);
  });
});

describe("a treasury account closed and reopened in one transaction", () => {
  const empty = useScene();

  it("counts what a reopened treasury account gained", async () => {
    const by = await buyer(empty);
    const [account, owner, wallet] = [payTo(empty), empty.treasury.publicKey, by.agent.wallet.publicKey];
    const instructions = [
      memo(by.offer.memo),
      createCloseAccountInstruction(account, wallet, owner),
      createAssociatedTokenAccountIdempotentInstruction(wallet, account, owner, MINT),
      transfer(empty, by.agent, PRICE),
    ];
    await by.expectBought(await by.send(instructions, empty.treasury));
    await by.expectOneCall();
  });
});
