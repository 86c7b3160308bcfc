import {
  AuthorityType,
  createAssociatedTokenAccountInstruction,
  createInitializeMint2Instruction,
  createMintToInstruction,
  createSetAuthorityInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
  getMintLen,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from "@solana/spl-token";
import {
  AddressLookupTableProgram,
  Connection,
  Keypair,
  type PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { memo, MINT, rpc, signed, transfer, usdcOf } from "./paying.ts";

describe("the transaction kinds of a payment", () => {
  let local: LocalChain;
  let connection: Connection;
  let payer: Keypair;
  let shop: Keypair;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 0 });
    connection = new Connection(local.url, "confirmed");
  });
  beforeEach(() => {
    payer = local.controls.createWallet({ microUsd: 1_000n });
    shop = local.controls.createWallet({ microUsd: 0n });
  });
  afterAll(() => local.close());

  async function land(
    instructions: readonly TransactionInstruction[],
    ...others: readonly Keypair[]
  ): Promise<string> {
    const transaction = signed(local, payer, instructions);
    if (others.length > 0) transaction.partialSign(...others);
    const signature = await connection.sendRawTransaction(transaction.serialize());
    local.chain.advance();
    return signature;
  }

  it("reads v0 with a lookup table back with the loaded addresses", async () => {
    const to = local.controls.usdcAccount(shop.publicKey);
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority: payer.publicKey,
      payer: payer.publicKey,
      recentSlot: await connection.getSlot("confirmed"),
    });
    const extend = AddressLookupTableProgram.extendLookupTable({
      lookupTable: table,
      authority: payer.publicKey,
      payer: payer.publicKey,
      addresses: [MINT, to],
    });
    await land([create, extend]);
    const { value: lookupTable } = await connection.getAddressLookupTable(table);
    if (lookupTable === null) throw new Error("the lookup table exists");
    const { blockhash } = await connection.getLatestBlockhash("processed");
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: blockhash,
      instructions: [transfer(local, payer, shop, 7n)],
    }).compileToV0Message([lookupTable]);
    const transaction = new VersionedTransaction(message);
    transaction.sign([payer]);

    const signature = await connection.sendTransaction(transaction);
    local.chain.advance();

    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    expect(found?.version).toBe(0);
    expect(found?.meta?.loadedAddresses).toEqual({ writable: [to], readonly: [MINT] });
    const index = found?.transaction.message.staticAccountKeys.length;
    expect(found?.meta?.postTokenBalances).toContainEqual(
      expect.objectContaining({
        accountIndex: index,
        uiTokenAmount: expect.objectContaining({ amount: "7" }),
      }),
    );
    await expect(rpc(local, "getTransaction", signature, { commitment: "confirmed" })).rejects.toMatchObject({
      code: -32015,
    });
  });

  it("moves money twice in one batch instruction, without inner instructions", async () => {
    const transfers = [10n, 20n].map((amount) => transfer(local, payer, shop, amount));
    const [first] = transfers;
    if (first === undefined) throw new Error("there are two transfers");
    const batch = new TransactionInstruction({
      programId: TOKEN_PROGRAM_ID,
      keys: transfers.flatMap(({ keys }) => keys),
      data: Buffer.concat([
        Buffer.from([255]),
        ...transfers.map(({ keys, data }) => Buffer.concat([Buffer.from([keys.length, data.length]), data])),
      ]),
    });
    const signature = await land([batch, memo("svc:qt_batch")]);
    expect(await usdcOf(local, shop)).toBe(30n);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.meta?.err).toBeNull();
    expect(found?.meta?.innerInstructions).toEqual([]);
  });

  it("shows the calls and the new token balance when a token account is created", async () => {
    const newcomer = Keypair.generate();
    const account = local.controls.usdcAccount(newcomer.publicKey);
    const signature = await land([
      createAssociatedTokenAccountInstruction(payer.publicKey, account, newcomer.publicKey, MINT),
      transfer(local, payer, newcomer, 5n),
    ]);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.meta?.innerInstructions?.[0]?.index).toBe(0);
    expect(found?.meta?.innerInstructions?.[0]?.instructions.length).toBeGreaterThan(1);
    const owners = (balances: readonly { owner?: string }[] | null | undefined): unknown[] =>
      balances?.map(({ owner }) => owner) ?? [];
    expect(owners(found?.meta?.preTokenBalances)).toEqual([payer.publicKey.toBase58()]);
    expect(owners(found?.meta?.postTokenBalances)).toContain(newcomer.publicKey.toBase58());
    const parsed = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(parsed?.meta?.innerInstructions?.[0]?.instructions.length).toBeGreaterThan(1);
    const owned = await connection.getTokenAccountsByOwner(newcomer.publicKey, { mint: MINT });
    expect(owned.value.map(({ pubkey }) => pubkey)).toEqual([account]);
  });

  it("distinguishes a Token-2022 mint by its program", async () => {
    const mint = Keypair.generate();
    const [from, to] = [payer, shop].map(({ publicKey }) =>
      getAssociatedTokenAddressSync(mint.publicKey, publicKey, false, TOKEN_2022_PROGRAM_ID),
    );
    if (from === undefined || to === undefined) throw new Error("both wallets have an address");
    const space = getMintLen([]);
    const account = (ata: PublicKey, owner: PublicKey): TransactionInstruction =>
      createAssociatedTokenAccountInstruction(
        payer.publicKey,
        ata,
        owner,
        mint.publicKey,
        TOKEN_2022_PROGRAM_ID,
      );
    const signature = await land(
      [
        SystemProgram.createAccount({
          fromPubkey: payer.publicKey,
          newAccountPubkey: mint.publicKey,
          space,
          lamports: await connection.getMinimumBalanceForRentExemption(space),
          programId: TOKEN_2022_PROGRAM_ID,
        }),
        createInitializeMint2Instruction(mint.publicKey, 6, payer.publicKey, null, TOKEN_2022_PROGRAM_ID),
        account(from, payer.publicKey),
        account(to, shop.publicKey),
        createMintToInstruction(mint.publicKey, from, payer.publicKey, 50n, [], TOKEN_2022_PROGRAM_ID),
        createTransferCheckedInstruction(
          from,
          mint.publicKey,
          to,
          payer.publicKey,
          9n,
          6,
          [],
          TOKEN_2022_PROGRAM_ID,
        ),
      ],
      mint,
    );
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.meta?.postTokenBalances).toContainEqual(
      expect.objectContaining({
        owner: shop.publicKey.toBase58(),
        programId: TOKEN_2022_PROGRAM_ID.toBase58(),
        uiTokenAmount: expect.objectContaining({ amount: "9" }),
      }),
    );
  });

  it("reads a token account after a change of its owner", async () => {
    const from = local.controls.usdcAccount(payer.publicKey);
    const signature = await land([
      createSetAuthorityInstruction(from, payer.publicKey, AuthorityType.AccountOwner, shop.publicKey),
    ]);
    const found = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.meta?.preTokenBalances?.[0]?.owner).toBe(payer.publicKey.toBase58());
    expect(found?.meta?.postTokenBalances?.[0]?.owner).toBe(shop.publicKey.toBase58());
  });
});
