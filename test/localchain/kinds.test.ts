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
  Keypair,
  type PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { memo, MINT, rpc, signed, transfer, usdcOf, useChain } from "./paying.ts";

describe("the transaction kinds of a payment", () => {
  const local = useChain();

  async function land(
    instructions: readonly TransactionInstruction[],
    ...others: readonly Keypair[]
  ): Promise<string> {
    const transaction = signed(local, local.payer, instructions);
    if (others.length > 0) transaction.partialSign(...others);
    const signature = await local.send(transaction);
    local.chain.advance();
    return signature;
  }

  it("reads v0 with a lookup table back with the loaded addresses", async () => {
    const to = local.controls.usdcAccount(local.shop.publicKey);
    const [create, table] = AddressLookupTableProgram.createLookupTable({
      authority: local.payer.publicKey,
      payer: local.payer.publicKey,
      recentSlot: await local.connection.getSlot("confirmed"),
    });
    const extend = AddressLookupTableProgram.extendLookupTable({
      lookupTable: table,
      authority: local.payer.publicKey,
      payer: local.payer.publicKey,
      addresses: [MINT, to],
    });
    await land([create, extend]);
    const { value: lookupTable } = await local.connection.getAddressLookupTable(table);
    if (lookupTable === null) throw new Error("the lookup table exists");
    const { blockhash } = await local.connection.getLatestBlockhash("processed");
    const message = new TransactionMessage({
      payerKey: local.payer.publicKey,
      recentBlockhash: blockhash,
      instructions: [transfer(local, local.payer, local.shop, 7n)],
    }).compileToV0Message([lookupTable]);
    const transaction = new VersionedTransaction(message);
    transaction.sign([local.payer]);

    const signature = await local.connection.sendTransaction(transaction);
    local.chain.advance();

    const found = await local.connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
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
    const transfers = [10n, 20n].map((amount) => transfer(local, local.payer, local.shop, amount));
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
    expect(await usdcOf(local, local.shop)).toBe(30n);
    const found = await local.read(signature);
    expect(found?.meta?.err).toBeNull();
    expect(found?.meta?.innerInstructions).toEqual([]);
  });

  it("shows the calls and the new token balance when a token account is created", async () => {
    const newcomer = Keypair.generate();
    const account = local.controls.usdcAccount(newcomer.publicKey);
    const signature = await land([
      createAssociatedTokenAccountInstruction(local.payer.publicKey, account, newcomer.publicKey, MINT),
      transfer(local, local.payer, newcomer, 5n),
    ]);
    const found = await local.read(signature);
    expect(found?.meta?.innerInstructions?.[0]?.index).toBe(0);
    expect(found?.meta?.innerInstructions?.[0]?.instructions.length).toBeGreaterThan(1);
    const owners = (balances: readonly { owner?: string }[] | null | undefined): unknown[] =>
      balances?.map(({ owner }) => owner) ?? [];
    expect(owners(found?.meta?.preTokenBalances)).toEqual([local.payer.publicKey.toBase58()]);
    expect(owners(found?.meta?.postTokenBalances)).toContain(newcomer.publicKey.toBase58());
    const parsed = await local.connection.getParsedTransaction(signature, {
      maxSupportedTransactionVersion: 1,
    });
    expect(parsed?.meta?.innerInstructions?.[0]?.instructions.length).toBeGreaterThan(1);
    const owned = await local.connection.getTokenAccountsByOwner(newcomer.publicKey, { mint: MINT });
    expect(owned.value.map(({ pubkey }) => pubkey)).toEqual([account]);
  });

  it("distinguishes a Token-2022 mint by its program", async () => {
    const mint = Keypair.generate();
    const [from, to] = [local.payer, local.shop].map(({ publicKey }) =>
      getAssociatedTokenAddressSync(mint.publicKey, publicKey, false, TOKEN_2022_PROGRAM_ID),
    );
    if (from === undefined || to === undefined) throw new Error("both wallets have an address");
    const space = getMintLen([]);
    const account = (ata: PublicKey, owner: PublicKey): TransactionInstruction =>
      createAssociatedTokenAccountInstruction(
        local.payer.publicKey,
        ata,
        owner,
        mint.publicKey,
        TOKEN_2022_PROGRAM_ID,
      );
    const signature = await land(
      [
        SystemProgram.createAccount({
          fromPubkey: local.payer.publicKey,
          newAccountPubkey: mint.publicKey,
          space,
          lamports: await local.connection.getMinimumBalanceForRentExemption(space),
          programId: TOKEN_2022_PROGRAM_ID,
        }),
        createInitializeMint2Instruction(
          mint.publicKey,
          6,
          local.payer.publicKey,
          null,
          TOKEN_2022_PROGRAM_ID,
        ),
        account(from, local.payer.publicKey),
        account(to, local.shop.publicKey),
        createMintToInstruction(mint.publicKey, from, local.payer.publicKey, 50n, [], TOKEN_2022_PROGRAM_ID),
        createTransferCheckedInstruction(
          from,
          mint.publicKey,
          to,
          local.payer.publicKey,
          9n,
          6,
          [],
          TOKEN_2022_PROGRAM_ID,
        ),
      ],
      mint,
    );
    const found = await local.read(signature);
    expect(found?.meta?.postTokenBalances).toContainEqual(
      expect.objectContaining({
        owner: local.shop.publicKey.toBase58(),
        programId: TOKEN_2022_PROGRAM_ID.toBase58(),
        uiTokenAmount: expect.objectContaining({ amount: "9" }),
      }),
    );
  });

  it("reads a token account after a change of its owner", async () => {
    const from = local.controls.usdcAccount(local.payer.publicKey);
    const signature = await land([
      createSetAuthorityInstruction(
        from,
        local.payer.publicKey,
        AuthorityType.AccountOwner,
        local.shop.publicKey,
      ),
    ]);
    const found = await local.read(signature);
    expect(found?.meta?.preTokenBalances?.[0]?.owner).toBe(local.payer.publicKey.toBase58());
    expect(found?.meta?.postTokenBalances?.[0]?.owner).toBe(local.shop.publicKey.toBase58());
  });
});
