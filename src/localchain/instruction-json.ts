import { base58 } from "@scure/base";
import type { Address } from "@solana/kit";
import {
  MEMO_PROGRAM,
  MEMO_V1_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from "./addresses.ts";
import type { CompiledInstruction } from "./compiled-instruction.ts";
import type { Json } from "./json.ts";
import { uiTokenAmount } from "./token-account.ts";

/** An instruction as encoding `json` has it: indexes and base58 data. */
export function instructionJson(instruction: CompiledInstruction): Json {
  return {
    accounts: instruction.accounts,
    data: base58.encode(Uint8Array.from(instruction.data)),
    programIdIndex: instruction.programIndex,
    stackHeight: instruction.stackHeight,
  };
}

/**
 * An instruction in the encoding `jsonParsed`. Memos, SOL transfers and token transfers are parsed; others
 * have the partially decoded form, as validators return for unknown programs.
 */
export function parsedInstructionJson(instruction: CompiledInstruction, keys: readonly Address[]): Json {
  const programId = keys[instruction.programIndex] ?? SYSTEM_PROGRAM;
  const accounts = instruction.accounts.map((index) => keys[index] ?? SYSTEM_PROGRAM);
  const { data, stackHeight } = instruction;
  const parsed = parse(programId, accounts, data);
  if (parsed !== undefined) return { ...parsed, programId, stackHeight };
  return { accounts, data: base58.encode(Uint8Array.from(data)), programId, stackHeight };
}

interface Parsed {
  readonly program: string;
  readonly parsed: Json;
  readonly [name: string]: Json;
}

function parse(program: Address, accounts: readonly Address[], data: Uint8Array): Parsed | undefined {
  switch (program) {
    case MEMO_PROGRAM:
    case MEMO_V1_PROGRAM:
      return { program: "spl-memo", parsed: new TextDecoder().decode(data) };
    case SYSTEM_PROGRAM:
      return parseSystem(accounts, data);
    case TOKEN_PROGRAM:
      return parseToken("spl-token", accounts, data);
    case TOKEN_2022_PROGRAM:
      return parseToken("spl-token-2022", accounts, data);
    default:
      return undefined;
  }
}

/** System program: Transfer is 2 (u32), then lamports (u64). */
function parseSystem(accounts: readonly Address[], data: Uint8Array): Parsed | undefined {
  const [source, destination] = accounts;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (source === undefined || destination === undefined) return undefined;
  if (data.length !== 12 || view.getUint32(0, true) !== 2) return undefined;
  const info = { source, destination, lamports: view.getBigUint64(4, true) };
  return { program: "system", parsed: { type: "transfer", info } };
}

/** SPL Token: Transfer is 3, then the amount (u64); TransferChecked is 12, then amount and decimals (u8). */
function parseToken(program: string, accounts: readonly Address[], data: Uint8Array): Parsed | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const amount = (): bigint => view.getBigUint64(1, true);
  if (data[0] === 3 && data.length === 9 && accounts.length >= 3) {
    const [source, destination, authority, ...signers] = accounts;
    const info = { source, destination, amount: amount().toString(), ...authorityJson(authority, signers) };
    return { program, parsed: { type: "transfer", info } };
  }
  if (data[0] === 12 && data.length === 10 && accounts.length >= 4) {
    const [source, mint, destination, authority, ...signers] = accounts;
    const tokenAmount = uiTokenAmount(amount(), data[9] ?? 0);
    const info = { source, mint, destination, tokenAmount, ...authorityJson(authority, signers) };
    return { program, parsed: { type: "transferChecked", info } };
  }
  return undefined;
}

/** One owner, or a multisig account followed by those who signed for it. */
function authorityJson(
  authority: Address | undefined,
  signers: readonly Address[],
): { readonly [name: string]: Json | undefined } {
  return signers.length === 0 ? { authority } : { multisigAuthority: authority, signers };
}
