import { createHash } from "node:crypto";
import {
  createApproveCheckedInstruction as approveChecked,
  createApproveInstruction,
  createAssociatedTokenAccountIdempotentInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createSetAuthorityInstruction as setAuthority,
  createTransferInstruction,
  createTransferCheckedInstruction,
  AuthorityType,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from "@solana/spl-token";
import {
  AddressLookupTableAccount,
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  SYSVAR_CLOCK_PUBKEY,
  SYSVAR_SLOT_HASHES_PUBKEY,
  SystemProgram,
  TransactionInstruction,
} from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import type { RelayRefusal } from "../../../src/domain/payments/relay-refusal.ts";
import {
  bid,
  expectRefused,
  guard,
  LIGHTHOUSE,
  limit,
  makeScene,
  memo,
  MEMO_V1,
  MEMO_V2,
  MINT,
  payment,
  PRICE,
  quoteOf,
  refusalOf,
  signed,
  sponsored,
  transfer,
  usdcOf,
  type Scene,
} from "./fixture.ts";

const scene = makeScene();
const { feePayer, payer, treasuryOwner } = scene;
const [source, treasury] = [usdcOf(payer.publicKey), usdcOf(treasuryOwner)];
const stranger = Keypair.generate();

type Row = readonly [what: string, reason: RelayRefusal, instructions: () => TransactionInstruction[]];

/** The good payment with one of its four instructions replaced. */
function but(index: 0 | 1 | 2 | 3, ...instead: TransactionInstruction[]): () => TransactionInstruction[] {
  return () => payment(scene).toSpliced(index, 1, ...instead);
}

/** A guard that makes the payer a signer where no other instruction does. */
const payerSigns = guard(5, 16, [payer.publicKey]);
payerSigns.keys[0]!.isSigner = true;

/** The good payment with something before or behind it. */
const before = (...added: TransactionInstruction[]) => but(0, ...added, limit());
const behind = (...added: TransactionInstruction[]) => but(3, memo(scene.memo), ...added);

function altered(
  instruction: TransactionInstruction,
  change: Partial<TransactionInstruction>,
): TransactionInstruction {
  return new TransactionInstruction({ ...instruction, ...change });
}

const withData = (instruction: TransactionInstruction, ...data: number[]) =>
  altered(instruction, { data: Buffer.from(data) });
const byProgram = (instruction: TransactionInstruction, programId: PublicKey) =>
  altered(instruction, { programId });

function withKeys(instruction: TransactionInstruction, ...added: PublicKey[]): TransactionInstruction {
  const keys = added.map((pubkey) => ({
    pubkey,
    isSigner: pubkey.equals(feePayer.publicKey),
    isWritable: false,
  }));
  return altered(instruction, { keys: [...instruction.keys, ...keys] });
}

describe("instructions that cost the fee payer more than a fee", () => {
  /** An instruction of the compute budget that once named a fee. */
  const OWN_FEE = [0, 0, 78, 0, 0, 255, 255, 255, 255];
  it.each<Row>([
    ["asks for more compute units", "compute_limit", but(0, limit(200_001))],
    [
      "bids high for many units",
      "compute_price",
      () => [limit(60_001), bid(50_000), ...payment(scene).slice(2)],
    ],
    ["bids for all units", "compute_price", () => [limit(200_000), bid(15_001), ...payment(scene).slice(2)]],
    ["bids more", "compute_price", but(1, bid(50_001))],
    ["bids as much as a number can say", "compute_price", but(1, bid(2n ** 64n - 1n))],
    ["drains by fees", "compute_limit", () => [limit(1_400_000), bid(5_000_000), ...payment(scene).slice(2)]],
    ["names a fee of its own", "instruction_layout", but(1, withData(bid(), ...OWN_FEE))],
    ["sets no limit", "instruction_layout", () => payment(scene).slice(1)],
    ["sets no price", "instruction_layout", () => payment(scene).toSpliced(1, 1)],
    ["sets the limit twice", "instruction_layout", before(limit())],
    ["sets the price twice", "instruction_layout", but(1, bid(), bid())],
    ["asks for a heap", "instruction_layout", before(ComputeBudgetProgram.requestHeapFrame({ bytes: 1024 }))],
    ["lets two more sign", "signer_count", but(2, withSigner(transfer(scene), stranger))],
    ["writes memory of Lighthouse at its cost", "guard_kind", behind(memory(0))],
    ["closes memory of Lighthouse", "guard_kind", behind(memory(1))],
    ["makes it pay for an account", "fee_payer_used", before(newAccount(feePayer.publicKey))],
    ["moves its SOL", "fee_payer_used", behind(sol(feePayer.publicKey))],
  ])("are refused when a transaction %s", (_what, reason, instructions) => {
    expectRefused(scene, signed(scene, instructions(), { others: [stranger] }), reason);
  });

  function withSigner(instruction: TransactionInstruction, signer: Keypair) {
    return altered(instruction, {
      keys: [...instruction.keys, { pubkey: signer.publicKey, isSigner: true, isWritable: false }],
    });
  }
  function memory(kind: number) {
    const keys = [SystemProgram.programId, feePayer.publicKey, stranger.publicKey].map((pubkey) => ({
      pubkey,
      isSigner: pubkey === feePayer.publicKey,
      isWritable: pubkey !== SystemProgram.programId,
    }));
    return new TransactionInstruction({ programId: LIGHTHOUSE, keys, data: Buffer.of(kind, 0, 255, 0, 0) });
  }
});

function newAccount(payerOfRent: PublicKey) {
  return createAssociatedTokenAccountIdempotentInstruction(payerOfRent, treasury, treasuryOwner, MINT);
}

function sol(from: PublicKey) {
  return SystemProgram.transfer({ fromPubkey: from, toPubkey: stranger.publicKey, lamports: 1 });
}

describe("the fee payer", () => {
  it.each<Row>([
    [
      "the authority",
      "fee_payer_used",
      but(2, transfer(scene, { authority: feePayer.publicKey }), payerSigns),
    ],
    ["the transfer's source", "fee_payer_used", but(2, transfer(scene, { source: feePayer.publicKey }))],
    ["one of several owners", "fee_payer_used", but(2, withKeys(transfer(scene), feePayer.publicKey))],
    ["an account of the memo", "fee_payer_used", but(3, withKeys(memo(scene.memo), feePayer.publicKey))],
    ["an account of the compute budget", "fee_payer_used", but(0, withKeys(limit(), feePayer.publicKey))],
  ])("is refused as %s", (_what, reason, instructions) => {
    expectRefused(scene, signed(scene, instructions()), reason);
  });

  it("is refused and gets no signature when it is another's", () => {
    const bytes = signed(scene, payment(scene), { feePayer: stranger.publicKey });

    expect(scene.sponsor.decode(bytes).txSignature).toBeUndefined();
    expectRefused(scene, bytes, "fee_payer");
  });

  it("is refused as the payer, who signs separately", () => {
    const self: Scene = { ...scene, payer: feePayer };
    expectRefused(scene, signed(self, payment(self)), "signer_count");
  });

  it("is refused as the treasury", () => {
    expect(() => makeScene({ feePayer, treasuryOwner: feePayer.publicKey })).toThrow(
      /FEE_PAYER_KEYPAIR: must be another key/,
    );
  });
});

describe("the transfer", () => {
  const other = Keypair.generate().publicKey;
  const token = (data: number[], keys = transfer(scene).keys) =>
    new TransactionInstruction({ programId: TOKEN_PROGRAM_ID, keys, data: Buffer.from(data) });
  const owner = payer.publicKey;
  const ACCOUNT_OWNER = AuthorityType.AccountOwner;

  it.each<Row>([
    ["of one micro-USDC less", "transfer_amount", but(2, transfer(scene, { amount: PRICE - 1n }))],
    ["of one micro-USDC more", "transfer_amount", but(2, transfer(scene, { amount: PRICE + 1n }))],
    ["of another mint", "transfer_mint", but(2, transfer(scene, { mint: other }))],
    ["of other decimals", "transfer_decimals", but(2, transfer(scene, { decimals: 5 }))],
    ["to another account", "transfer_destination", but(2, transfer(scene, { to: usdcOf(other) }))],
    ["to the treasury's wallet", "transfer_destination", but(2, transfer(scene, { to: treasuryOwner }))],
    ["from another account of the payer's", "transfer_source", but(2, transfer(scene, { source: other }))],
    ["from the treasury", "transfer_source", but(2, transfer(scene, { source: treasury }))],
    ["with a byte too many", "instruction_data", but(2, token([...transfer(scene).data, 0]))],
    ["with a byte too few", "instruction_data", but(2, token([...transfer(scene).data.subarray(0, 9)]))],
    ["by several owners", "instruction_accounts", but(2, withKeys(transfer(scene), owner))],
    ["without accounts", "instruction_accounts", but(2, token([...transfer(scene).data], []), payerSigns)],
    ["without checks", "transfer_kind", but(2, createTransferInstruction(source, treasury, owner, PRICE))],
    ["without data", "transfer_kind", but(2, token([]))],
    ["in a batch", "transfer_kind", but(2, token([255, 4, 10, ...transfer(scene).data]))],
    ["as an approval", "transfer_kind", but(2, createApproveInstruction(source, other, owner, PRICE))],
    ["as a checked approval", "transfer_kind", but(2, approveChecked(source, MINT, other, owner, PRICE, 6))],
    ["as a change of owner", "transfer_kind", but(2, setAuthority(source, owner, ACCOUNT_OWNER, other))],
    ["as an account's end", "transfer_kind", but(2, createCloseAccountInstruction(source, other, owner))],
    ["as a burning", "transfer_kind", but(2, createBurnInstruction(source, MINT, owner, PRICE))],
    ["by Token-2022", "instruction_program", but(2, byProgram(transfer(scene), TOKEN_2022_PROGRAM_ID))],
    ["twice", "instruction_layout", but(2, transfer(scene), transfer(scene))],
    ["beside another", "instruction_layout", behind(transfer(scene, { to: usdcOf(other) }))],
    ["not at all", "instruction_layout", but(2, payerSigns)],
  ])("is refused %s", (_what, reason, instructions) => {
    expectRefused(scene, signed(scene, instructions()), reason);
  });

  it("needs the second signer as its authority", () => {
    const byOther = createTransferCheckedInstruction(source, MINT, treasury, other, PRICE, 6, []);
    byOther.keys[3]!.isSigner = false;

    expectRefused(
      scene,
      signed(scene, [limit(), bid(), byOther, memo(scene.memo), payerSigns]),
      "transfer_authority",
    );
  });

  it("is refused from the treasury itself", () => {
    const owner = Keypair.generate();
    const self = makeScene({ treasuryOwner: owner.publicKey, payer: owner });

    expect(refusalOf(self, signed(self, payment(self)))?.reason).toBe("payer_is_treasury");
  });
});

describe("the memo", () => {
  it.each<Row>([
    ["that names another quote", "memo_quote", but(3, memo(`svc:${quoteOf("B").quoteId}`))],
    ["that is none of ours", "memo_text", but(3, memo("thank you"))],
    ["with another prefix", "memo_text", but(3, memo(`sva:${scene.quote.quoteId}`))],
    ["of the form for wallets", "memo_text", but(3, memo(`step_${"0".repeat(32)}:${scene.quote.quoteId}:1`))],
    ["with a space behind it", "memo_text", but(3, memo(`${scene.memo} `))],
    ["with a byte order mark", "memo_text", but(3, memo(`\uFEFF${scene.memo}`))],
    ["that is not UTF-8", "memo_text", but(3, memo(Buffer.from([...Buffer.from(scene.memo), 0xff])))],
    ["that is empty", "memo_text", but(3, memo(""))],
    ["with an account", "instruction_accounts", but(3, withKeys(memo(scene.memo), payer.publicKey))],
    ["missing", "instruction_layout", () => payment(scene).slice(0, 3)],
    ["twice", "instruction_layout", behind(memo(scene.memo))],
    ["in both versions", "instruction_layout", behind(memo(scene.memo, MEMO_V1))],
  ])("is refused %s", (_what, reason, instructions) => {
    expectRefused(scene, signed(scene, instructions()), reason);
  });
});

describe("instructions that belong to no payment", () => {
  const nonce = SystemProgram.nonceAdvance({
    noncePubkey: stranger.publicKey,
    authorizedPubkey: payer.publicKey,
  });
  const [one, two, three, four] = payment(scene);

  it.each<Row>([
    ["a durable nonce", "instruction_program", before(nonce)],
    ["a transfer of SOL", "instruction_program", behind(sol(payer.publicKey))],
    ["a new account", "instruction_program", before(newAccount(payer.publicKey))],
    ["an unknown program", "instruction_program", behind(byProgram(limit(), stranger.publicKey))],
    [
      "the price first and the memo before the transfer",
      "instruction_layout",
      () => [two!, one!, four!, three!],
    ],
    ["the memo first", "instruction_layout", () => [four!, one!, two!, three!]],
    ["the budget last", "instruction_layout", () => [three!, four!, one!, two!]],
    ["a limit of another length", "instruction_data", but(0, withData(limit(), 2, 0, 1, 0, 0, 0))],
    ["a price of another length", "instruction_data", but(1, withData(bid(), 3, 1, 0, 0, 0))],
    ["a limit with an account", "instruction_accounts", but(0, withKeys(limit(), payer.publicKey))],
    ["a price with an account", "instruction_accounts", but(1, withKeys(bid(), payer.publicKey))],
    ["nothing at all", "signer_count", () => []],
  ])("are refused: %s", (_what, reason, instructions) => {
    expectRefused(scene, signed(scene, instructions()), reason);
  });

  it("are refused in the payment's own instructions when accounts come from lookup tables", () => {
    const state = {
      deactivationSlot: 2n ** 64n - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
      addresses: [treasury, MINT],
    };
    const table = new AddressLookupTableAccount({ key: stranger.publicKey, state });

    expectRefused(scene, signed(scene, payment(scene), { tables: [table] }), "lookup_tables");
  });
});

describe("guard instructions of wallets", () => {
  const [one, two, three, four] = payment(scene);
  const looks = (kind: number, bytes: number) => guard(kind, bytes, [feePayer.publicKey]);

  it.each<readonly [what: string, instructions: () => TransactionInstruction[]]>([
    ["one behind the payment", () => [...payment(scene), guard(6, 27, [source])]],
    ["two behind it, as Solflare has them", () => [...payment(scene), looks(5, 17), guard(10, 40, [source])]],
    [
      "three before the transfer that look at the fee payer, and one behind the memo, as Phantom has them",
      () => [one!, two!, looks(5, 17), guard(10, 52, [source]), looks(5, 16), three!, four!, looks(6, 27)],
    ],
    ["with the units that they take", () => [limit(70_000), ...payment(scene).slice(1), looks(5, 17)]],
  ])("are accepted at any position: %s", (_what, instructions) => {
    expect(refusalOf(scene, signed(scene, instructions()))).toBeUndefined();
  });

  it.each<Row>([
    ["five of them", "guard_count", () => [...payment(scene), ...Array(5).fill(looks(5, 17))]],
    ["ones that write memory", "guard_kind", behind(looks(0, 12))],
    ["ones that close memory", "guard_kind", behind(looks(1, 3))],
    ["ones that call another program", "guard_kind", behind(looks(16, 12))],
    ["ones of an unknown kind", "guard_kind", behind(looks(18, 12))],
    ["the clock", "guard_kind", behind(guard(15, 11, []))],
    ["two accounts that are compared", "guard_kind", behind(guard(4, 20, [payer.publicKey, source]))],
    ["the supply of USDC", "guard_kind", behind(guard(7, 12, [MINT]))],
    ["a stake, whose rewards come by themselves", "guard_kind", behind(guard(11, 12, [payer.publicKey]))],
    ["the clock as an account's data", "guard_account", behind(guard(2, 16, [SYSVAR_CLOCK_PUBKEY]))],
    ["recent blockhashes", "guard_account", behind(guard(3, 16, [SYSVAR_SLOT_HASHES_PUBKEY]))],
    ["what the treasury holds", "guard_account", behind(guard(9, 12, [treasury]))],
    ["the treasury's account", "guard_account", behind(guard(5, 12, [treasury]))],
    ["a stranger's account", "guard_account", behind(guard(6, 12, [stranger.publicKey]))],
    ["data of the fee payer", "guard_account", behind(looks(2, 12))],
    ["a second account", "guard_account", behind(guard(5, 12, [payer.publicKey, source]))],
    ["no account", "guard_account", behind(guard(5, 12, []))],
    ["ones that say nothing", "guard_kind", behind(guard(undefined, 0, [payer.publicKey]))],
    ["more units", "compute_limit", () => [limit(210_001), ...payment(scene).slice(1), looks(5, 17)]],
    ["a part of a payment", "instruction_layout", () => [...payment(scene).slice(0, 3), looks(5, 17)]],
  ])("do not allow %s", (_what, reason, instructions) => {
    expectRefused(scene, signed(scene, instructions()), reason);
  });
});

describe("the payer's signature", () => {
  it("is required", () => {
    const bytes = Buffer.from(signed(scene, payment(scene)));
    expectRefused(scene, bytes.fill(0, 65, 129), "payer_signature");
  });

  it("must sign this message", () => {
    const bytes = Buffer.from(signed(scene, payment(scene)));
    const other = Buffer.from(signed(scene, payment(scene), { blockhash: stranger.publicKey.toBase58() }));
    other.copy(bytes, 65, 65, 129);
    expectRefused(scene, bytes, "payer_signature");
  });

  it("must have S below the group order, or one message had two signatures", () => {
    const bytes = Buffer.from(signed(scene, payment(scene)));
    little(number(bytes.subarray(97, 129)) + ORDER).copy(bytes, 97);
    expectRefused(scene, bytes, "payer_signature");
  });

  it("must not have an R of small order, although the payer could make a valid one", () => {
    const bytes = Buffer.from(signed(scene, payment(scene)));
    const secret = createHash("sha512").update(payer.secretKey.subarray(0, 32)).digest().subarray(0, 32);
    secret.writeUInt8(secret.readUInt8(0) & 248, 0);
    secret.writeUInt8((secret.readUInt8(31) & 63) | 64, 31);
    const hashed = createHash("sha512").update(
      Buffer.concat([NEUTRAL, payer.publicKey.toBuffer(), bytes.subarray(129)]),
    );
    NEUTRAL.copy(bytes, 65);
    little((number(hashed.digest()) * number(secret)) % ORDER).copy(bytes, 97);
    expectRefused(scene, bytes, "payer_signature");
  });

  it("must not be of a key of small order, whose signature fits any message", () => {
    const neutral: Scene = { ...scene, payer: { publicKey: new PublicKey(NEUTRAL) } as Keypair };
    const bytes = Buffer.from(signed({ ...neutral, payer: Keypair.generate() }, payment(neutral)));
    // S·B = R + h·A with S = 0 and R = A = the neutral element, whatever h is.
    NEUTRAL.copy(bytes.fill(0, 65, 129), 65);
    expectRefused(scene, bytes, "payer_signature");
  });

  const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
  const NEUTRAL = Buffer.alloc(32).fill(1, 0, 1);
  const number = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
  const little = (value: bigint) => Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse();
});

describe("the fee payer's signature", () => {
  it("replaces only the bytes in its place", () => {
    const bytes = Buffer.from(signed(scene, payment(scene)));
    const scribbled = Buffer.from(bytes).fill(7, 1, 65);

    const sent = Buffer.from(sponsored(scene, scribbled));

    expect(sent).toEqual(Buffer.from(sponsored(scene, bytes)));
    expect(sent.subarray(65)).toEqual(bytes.subarray(65));
    expect(scene.sponsor.decode(scribbled).messageHash).toEqual(scene.sponsor.decode(bytes).messageHash);
  });

  it("is made for no transaction that breaks a rule, whatever the quote says", () => {
    const bytes = signed(scene, payment(scene).toSpliced(3, 0, sol(payer.publicKey)));
    expect(() => scene.sponsor.decode(bytes)).toThrow(/instruction_program/);
  });

  it("costs at most the limits: 15,000 lamports", () => {
    const most = (guards: number, units: number) =>
      signed(scene, [
        limit(units),
        bid(50_000),
        ...payment(scene).slice(2),
        ...Array.from({ length: guards }, () => guard(5, 17, [payer.publicKey])),
      ]);
    const feeOf = (bytes: Uint8Array) => {
      const decoded = scene.sponsor.decode(bytes);
      return scene.sponsor.sign(decoded, scene.quote).feeLamports;
    };

    expect(feeOf(signed(scene, payment(scene)))).toBe(10_001n);
    expect(feeOf(most(0, 60_000))).toBe(13_000n);
    expect(feeOf(most(4, 100_000))).toBe(15_000n);
    expectRefused(scene, most(4, 100_001), "compute_price");
    expect(feeOf(signed(scene, [limit(200_000), bid(15_000), ...payment(scene).slice(2)]))).toBe(13_000n);
  });
});

it("accepts the instructions of @solana/mpp: the price first, and 200,000 units", () => {
  const [, , three, four] = payment(scene);
  expect(refusalOf(scene, signed(scene, [bid(1), limit(200_000), three!, four!]))).toBeUndefined();
});

it("accepts Memo under either of its programs", () => {
  for (const program of [MEMO_V1, MEMO_V2]) {
    expect(refusalOf(scene, signed(scene, but(3, memo(scene.memo, program))()))).toBeUndefined();
  }
});
