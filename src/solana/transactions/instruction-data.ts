import { base58 } from "@scure/base";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";

/** Decodes an instruction's data. @throws MalformedAnswer unless it is base58 */
export function instructionData(text: string): Uint8Array {
  try {
    return base58.decode(text);
  } catch {
    throw new MalformedAnswer("an instruction's data is not base58");
  }
}
