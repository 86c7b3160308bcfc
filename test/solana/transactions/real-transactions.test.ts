import {
  createApproveInstruction,
  createAssociatedTokenAccountInstruction,
  createCloseAccountInstruction,
  createInitializeMint2Instruction,
  createMintToInstruction,
  createTransferCheckedInstruction,
  createTransferInstruction,
  getAssociatedTokenAddressSync,
  MINT_SIZE,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from "@solana/spl-token";
import {
  AddressLookupTableAccount,
  AddressLookupTableProgram,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
} from "@solana/web3.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MEMO_V1_PROGRAM, USDC_MINT } from "../../../src/solana/core/addresses.ts";
import { Network, patient } from "../network.ts";

let net: Network;
let source: PublicKey;
let treasury: PublicKey;
beforeAll(async () => {
  net = await Network.start();
  source = net.local.controls.usdcAccount(net.payer.publicKey);
  treasury = net.local.controls.usdcAccount(net.treasuryOwner.publicKey);
});
afterEach(() => net.heal());
afterAll(() => net.close());

const MINT = new PublicKey(USDC_MINT);
const AMOUNT = 10_000n;

const memo = (text = net.memo(), program?: string): TransactionInstruction => {
  const [instruction] = net.payment(1n, text);
  if (!instruction) throw new Error("a payment begins with its memo");
  return program === undefined
    ? instruction
    : new TransactionInstruction({ ...instruction, programId: new PublicKey(program) });
};
const transfer = (amount = AMOUNT) =>
  createTransferInstruction(source, treasury, net.payer.publicKey, amount);
const verify = async (...transaction: Parameters<Network["confirm"]>) =>
  net.open().verify({ txSignature: await net.confirm(...transaction), signal: patient() });

/** SPL Token instruction 255. */
function batch(...instructions: TransactionInstruction[]): TransactionInstruction {
  const parts = instructions.map(({ keys, data }) =>
    Buffer.concat([Buffer.of(keys.length, data.length), data]),
  );
  return new TransactionInstruction({
    programId: TOKEN_PROGRAM_ID,
    keys: instructions.flatMap(({ keys }) => keys),
    data: Buffer.concat([Buffer.of(255), ...parts]),
  });
}

describe("real transactions that pay", () => {
  it("accepts Transfer with a memo of the first Memo program", async () => {
    const paid = await verify([memo(undefined, MEMO_V1_PROGRAM), transfer()]);
    expect(paid).toMatchObject({ kind: "paid", amount: AMOUNT, payer: net.payer.publicKey.toBase58() });
  });

  it("accepts a Batch, which leaves no inner instructions", async () => {
    const paid = await verify([memo(), batch(transfer(4_000n), transfer(6_000n))]);
    expect(paid).toMatchObject({ kind: "paid", amount: AMOUNT });
  });

  it("accepts a transfer by a delegate, from the tokens' owner", async () => {
    const delegate = net.local.controls.createWallet();
    const approve = createApproveInstruction(source, delegate.publicKey, net.payer.publicKey, AMOUNT);
    const move = createTransferInstruction(source, treasury, delegate.publicKey, AMOUNT);
    const paid = await verify([approve, memo(), move], { signers: [net.payer, delegate] });
    expect(paid).toMatchObject({ kind: "paid", amount: AMOUNT, payer: net.payer.publicKey.toBase58() });
  });

  it("accepts the whole content of an account that is then closed", async () => {
    const payer = net.local.controls.createWallet({ microUsd: AMOUNT });
    const from = net.local.controls.usdcAccount(payer.publicKey);
    const move = createTransferInstruction(from, treasury, payer.publicKey, AMOUNT);
    const close = createCloseAccountInstruction(from, payer.publicKey, payer.publicKey);
    const paid = await verify([memo(), move, close], { signers: [payer] });
    expect(paid).toMatchObject({ kind: "paid", amount: AMOUNT, payer: payer.publicKey.toBase58() });
  });

  it("accepts accounts from a lookup table, unless the node returns only some of them", async () => {
    const { publicKey } = net.payer;
    net.local.chain.advance();
    const recentSlot = net.local.chain.slots.current - 1;
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority: publicKey,
      payer: publicKey,
      recentSlot,
    });
    const addresses = [treasury, source, MINT];
    const lookup = { authority: publicKey, payer: publicKey, lookupTable: table, addresses };
    await net.confirm([create, AddressLookupTableProgram.extendLookupTable(lookup)]);
    net.local.chain.advance();
    const state = {
      deactivationSlot: 2n ** 64n - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
      addresses,
    };
    const tables = [new AddressLookupTableAccount({ key: table, state })];
    const txSignature = await net.confirm(net.payment(AMOUNT), { tables });

    expect(await net.open().verify({ txSignature, signal: patient() })).toMatchObject({
      kind: "paid",
      amount: AMOUNT,
    });

    const { meta, ...rest } = await net.getTransaction(txSignature);
    const loadedAddresses = { writable: [treasury.toBase58()], readonly: [USDC_MINT] };
    expect(meta).toHaveProperty("loadedAddresses.writable.length", 2);
    net.fail(net.first, "getTransaction", {
      kind: "result",
      result: { ...rest, meta: { ...(meta as object), loadedAddresses } },
    });
    await expect(net.open().verify({ txSignature, signal: patient() })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
  });
});

describe("real transactions that are refused", () => {
  it("refuses a failed one", async () => {
    const refused = await verify([memo(), transfer(10n ** 15n)]);
    expect(refused).toMatchObject({
      code: "FAILED_TRANSACTION",
      reason: expect.stringContaining('{"Custom":1}'),
    });
  });

  it("refuses its second signature", async () => {
    const feePayer = net.local.controls.createWallet();
    const { signature, send } = net.sign([memo(), transfer()], { signers: [feePayer, net.payer] });
    await send();
    net.local.chain.advance();
    const reported = await net.getTransaction(signature);
    const second = reported.transaction.signatures[1] ?? "";
    // Some indexers find a transaction by any of its signatures.
    net.fail(net.first, "getTransaction", { kind: "result", result: reported });
    const chain = net.open();
    expect(await chain.verify({ txSignature: second, signal: patient() })).toMatchObject({
      code: "NOT_THE_FIRST_SIGNATURE",
    });
    expect(await chain.verify({ txSignature: signature, signal: patient() })).toMatchObject({ kind: "paid" });
  });

  it.each([
    ["TOKEN", TOKEN_PROGRAM_ID, "WRONG_MINT"],
    ["Token-2022", TOKEN_2022_PROGRAM_ID, "WRONG_TOKEN_PROGRAM"],
  ])(
    "refuses a worthless %s mint of six decimals sent to the treasury's owner",
    async (_name, program, code) => {
      const [mint, { publicKey: payer }, owner] = [
        Keypair.generate(),
        net.payer,
        net.treasuryOwner.publicKey,
      ];
      const [from, to] = [payer, owner].map((wallet) =>
        getAssociatedTokenAddressSync(mint.publicKey, wallet, false, program),
      );
      if (!from || !to) throw new Error("both wallets have an address for it");
      const lamports = net.local.chain.svm.minimumBalanceForRentExemption(BigInt(MINT_SIZE));
      await net.confirm(
        [
          SystemProgram.createAccount({
            fromPubkey: payer,
            newAccountPubkey: mint.publicKey,
            space: MINT_SIZE,
            lamports: Number(lamports),
            programId: program,
          }),
          createInitializeMint2Instruction(mint.publicKey, 6, payer, null, program),
          createAssociatedTokenAccountInstruction(payer, from, payer, mint.publicKey, program),
          createAssociatedTokenAccountInstruction(payer, to, owner, mint.publicKey, program),
          createMintToInstruction(mint.publicKey, from, payer, AMOUNT, [], program),
        ],
        { signers: [net.payer, mint] },
      );
      const move = createTransferCheckedInstruction(from, mint.publicKey, to, payer, AMOUNT, 6, [], program);
      expect(await verify([memo(), move])).toMatchObject({ kind: "refused", code });
    },
  );

  it("refuses a payment to another wallet", async () => {
    const other = net.local.controls.createWallet({ microUsd: 0n });
    const to = net.local.controls.usdcAccount(other.publicKey);
    const move = createTransferInstruction(source, to, net.payer.publicKey, AMOUNT);
    expect(await verify([memo(), move])).toMatchObject({ code: "WRONG_DESTINATION" });
  });

  it("refuses a payment in and out", async () => {
    const back = createTransferInstruction(treasury, source, net.treasuryOwner.publicKey, 4_000n);
    const refused = await verify([memo(), transfer(), back], { signers: [net.payer, net.treasuryOwner] });
    expect(refused).toMatchObject({ code: "UNEXPLAINED_CHANGE" });
  });

  it("refuses the treasury's transfer to itself", async () => {
    const itself = createTransferInstruction(treasury, treasury, net.treasuryOwner.publicKey, 1_000n);
    expect(await verify([memo(), itself], { signers: [net.treasuryOwner] })).toMatchObject({
      code: "NOTHING_RECEIVED",
    });
  });

  it("refuses USDC minted into the treasury", async () => {
    net.local.controls.mintUsdc(net.treasuryOwner.publicKey, AMOUNT);
    const signature = [...(await signaturesOf(treasury))][0] ?? "";
    const verdict = await net.open().verify({ txSignature: signature, signal: patient() });
    expect(verdict).toMatchObject({ code: "UNEXPLAINED_CHANGE" });
  });

  it.each([
    ["MEMO_MISSING", () => []],
    ["MEMO_NOT_OURS", () => [memo("for lunch")]],
    ["MEMO_NOT_ALONE", () => [memo(), memo()]],
  ])("refuses an invalid memo: %s", async (code, memos) => {
    expect(await verify([...memos(), transfer()])).toMatchObject({ kind: "refused", code });
  });
});

/** Newest first. */
async function signaturesOf(account: PublicKey): Promise<string[]> {
  const params = [account.toBase58(), { commitment: "confirmed" }];
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "getSignaturesForAddress", params });
  const answer = (await (await fetch(net.first.url, { method: "POST", body })).json()) as {
    result: { signature: string }[];
  };
  return answer.result.map(({ signature }) => signature);
}
