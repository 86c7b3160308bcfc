import { base58 } from "@scure/base";
import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import { COMPUTE_BUDGET_PROGRAM, MEMO_V1_PROGRAM, MEMO_V2_PROGRAM, TOKEN_PROGRAM } from "./programs.ts";
import type { WireInstruction } from "./wire-transaction.ts";

type Kind = "limit" | "price" | "budget" | "transfer" | "memo";

/** The x402 client puts the memo last, Solana Pay right before the transfer. */
const LAYOUTS: ReadonlySet<string> = new Set(["limit price transfer memo", "limit price memo transfer"]);

const WANTED = "SetComputeUnitLimit, SetComputeUnitPrice, then TransferChecked and one memo";

export interface PaymentLayout {
  readonly limit: WireInstruction;
  readonly price: WireInstruction;
  readonly transfer: WireInstruction;
  readonly memo: WireInstruction;
}

/**
 * Finds the payment's four instructions; no others and no duplicates are allowed. Checks their kind only.
 */
export function readLayout(instructions: readonly WireInstruction[], keys: readonly Buffer[]): PaymentLayout {
  const found = instructions.map((instruction) => ({ instruction, kind: kindOf(instruction, keys) }));
  const order = found.map(({ kind }) => kind).join(" ");
  const at = (kind: Kind) => found.find((one) => one.kind === kind)?.instruction;
  const [limit, price, transfer, memo] = [at("limit"), at("price"), at("transfer"), at("memo")];
  if (!LAYOUTS.has(order) || !limit || !price || !transfer || !memo) {
    throw relayRefused(
      RELAY_REFUSALS.INSTRUCTION_LAYOUT,
      `the instructions must be ${WANTED}; they are: ${order === "" ? "none" : order.replaceAll(" ", ", ")}`,
    );
  }
  return { limit, price, transfer, memo };
}

function kindOf({ program, data }: WireInstruction, keys: readonly Buffer[]): Kind {
  const key = keys[program] ?? Buffer.alloc(0);
  if (key.equals(TOKEN_PROGRAM)) return "transfer";
  if (key.equals(MEMO_V2_PROGRAM) || key.equals(MEMO_V1_PROGRAM)) return "memo";
  if (key.equals(COMPUTE_BUDGET_PROGRAM)) return data[0] === 2 ? "limit" : data[0] === 3 ? "price" : "budget";
  throw relayRefused(
    RELAY_REFUSALS.INSTRUCTION_PROGRAM,
    `an instruction calls ${base58.encode(key)}; a payment calls the compute budget, SPL Token (not ` +
      "Token-2022) and memo programs alone",
  );
}
