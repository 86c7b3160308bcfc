import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { MEMO_V2_PROGRAM, TOKEN_PROGRAM, USDC_MINT, treasuryOf } from "../../src/solana/core/treasury.ts";

export const address = () => base58.encode(randomBytes(32));
export const signature = () => base58.encode(randomBytes(64));

export const TREASURY = treasuryOf("9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM");
export const RULES = { treasury: TREASURY, memoPrefix: "svc" };
export const TX = signature();
export const QUOTE = `qt_${base58.encode(randomBytes(81))}`;
export const OTHER_QUOTE = `qt_${base58.encode(randomBytes(81))}`;
export const STEP = `step_${"0123456789abcdef".repeat(2)}`;
export const [PAYER, PAYER_TOKENS] = [address(), address()];

/** An instruction by the addresses it names. */
export interface Instruction {
  program: string;
  accounts: string[];
  data: Uint8Array;
}

/** A token account's balance by its address. */
export interface Balance {
  account: string;
  amount: string | number;
  mint?: string;
  owner?: string | undefined;
  programId?: string | undefined;
}

/** A transaction by its effects; {@link json} numbers the accounts. */
export interface Draft {
  signatures: string[];
  version: unknown;
  slot: number;
  blockTime: number | null;
  err: unknown;
  instructions: Instruction[];
  inner: Instruction[] | null;
  pre: Balance[] | null;
  post: Balance[] | null;
  /** Accounts from a lookup table. */
  lookedUp: { writable: string[]; readonly: string[] };
}

function u64(amount: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(amount);
  return bytes;
}

export function memo(text: string | Uint8Array, program = MEMO_V2_PROGRAM): Instruction {
  return { program, accounts: [], data: Buffer.from(text) };
}

/** SPL Token instruction 3. */
export function transfer(
  source: string,
  destination: string,
  amount: bigint,
  authority = PAYER,
): Instruction {
  return {
    program: TOKEN_PROGRAM,
    accounts: [source, destination, authority],
    data: Buffer.concat([Buffer.of(3), u64(amount)]),
  };
}

/** SPL Token instruction 12. */
export function transferChecked(
  source: string,
  destination: string,
  amount: bigint,
  signers = [PAYER],
): Instruction {
  return {
    program: TOKEN_PROGRAM,
    accounts: [source, USDC_MINT, destination, ...signers],
    data: Buffer.concat([Buffer.of(12), u64(amount), Buffer.of(6)]),
  };
}

/** SPL Token instruction 255. */
export function batch(...instructions: Instruction[]): Instruction {
  const parts = instructions.map(({ accounts, data }) =>
    Buffer.concat([Buffer.of(accounts.length, data.length), data]),
  );
  return {
    program: TOKEN_PROGRAM,
    accounts: instructions.flatMap(({ accounts }) => accounts),
    data: Buffer.concat([Buffer.of(255), ...parts]),
  };
}

export function balance(account: string, amount: string | number, rest: Partial<Balance> = {}): Balance {
  const owner = account === TREASURY.tokenAccount ? TREASURY.owner : PAYER;
  return { account, amount, mint: USDC_MINT, owner, programId: TOKEN_PROGRAM, ...rest };
}

/** Balances of payer and treasury around a payment of that amount. */
export function moved(amount: bigint): Pick<Draft, "pre" | "post"> {
  return {
    pre: [balance(PAYER_TOKENS, "50000000"), balance(TREASURY.tokenAccount, "7000000")],
    post: [
      balance(PAYER_TOKENS, (50_000_000n - amount).toString()),
      balance(TREASURY.tokenAccount, (7_000_000n + amount).toString()),
    ],
  };
}

/** Amount of {@link draft}, micro-USD. */
export const AMOUNT = 10_000n;

/** A plain payment of 0.01 USDC with changes. */
function draft(changes: Partial<Draft> = {}): Draft {
  return {
    signatures: [TX],
    version: 0,
    slot: 250_000_001,
    blockTime: 1_790_000_000,
    err: null,
    instructions: [memo(`svc:${QUOTE}`), transferChecked(PAYER_TOKENS, TREASURY.tokenAccount, AMOUNT)],
    inner: [],
    ...moved(AMOUNT),
    lookedUp: { writable: [], readonly: [] },
    ...changes,
  };
}

/** The draft as `getTransaction` answers with `encoding: "json"`. */
export function json(changes: Partial<Draft> = {}) {
  const d = draft(changes);
  const loaded = [...d.lookedUp.writable, ...d.lookedUp.readonly];
  const named = [...d.instructions, ...(d.inner ?? [])].flatMap(({ program, accounts }) => [
    ...accounts,
    program,
  ]);
  const balances = [...(d.pre ?? []), ...(d.post ?? [])].map(({ account }) => account);
  const accountKeys = [...new Set([PAYER, ...named, ...balances])].filter((key) => !loaded.includes(key));
  const keys = [...accountKeys, ...loaded];
  const instruction = ({ program, accounts, data }: Instruction) => ({
    programIdIndex: keys.indexOf(program),
    accounts: accounts.map((account) => keys.indexOf(account)),
    data: base58.encode(data),
    stackHeight: null,
  });
  const tokenBalance = ({ account, amount, ...rest }: Balance) => ({
    accountIndex: keys.indexOf(account),
    ...rest,
    // uiAmount differs on purpose: it is no evidence.
    uiTokenAmount: { amount, decimals: 6, uiAmount: 4.2, uiAmountString: "4.2" },
  });
  const { writable, readonly } = d.lookedUp;
  const table = {
    accountKey: address(),
    writableIndexes: writable.map((_key, index) => index),
    readonlyIndexes: readonly.map((_key, index) => writable.length + index),
  };
  return {
    slot: d.slot,
    blockTime: d.blockTime,
    version: d.version,
    transaction: {
      signatures: d.signatures,
      message: {
        accountKeys,
        header: {
          numRequiredSignatures: d.signatures.length,
          numReadonlySignedAccounts: 0,
          numReadonlyUnsignedAccounts: 1,
        },
        instructions: d.instructions.map(instruction),
        recentBlockhash: address(),
        ...(d.version === 0 ? { addressTableLookups: loaded.length > 0 ? [table] : [] } : {}),
      },
    },
    meta: {
      err: d.err,
      status: { Ok: null },
      fee: 5000,
      innerInstructions:
        d.inner && (d.inner.length > 0 ? [{ index: 0, instructions: d.inner.map(instruction) }] : []),
      logMessages: [],
      preTokenBalances: d.pre && d.pre.map(tokenBalance),
      postTokenBalances: d.post && d.post.map(tokenBalance),
      loadedAddresses: { writable, readonly },
    },
  };
}
