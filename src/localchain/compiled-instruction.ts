import type { CompiledTransactionMessage } from "@solana/kit";

/** An instruction whose program and accounts are indexes into the transaction's account keys. */
export interface CompiledInstruction {
  readonly programIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
  /** 1 for an instruction of the transaction itself, more for calls between programs. */
  readonly stackHeight: number;
}

/** The top-level instructions of a message, whatever its version: v1 keeps headers and payloads apart. */
export function compiledInstructions(message: CompiledTransactionMessage): readonly CompiledInstruction[] {
  if (message.version === 1) {
    return message.instructionHeaders.map((header, index) => {
      const payload = message.instructionPayloads[index];
      if (payload === undefined) throw new Error("a v1 message has one payload per instruction header");
      return instruction(
        header.programAccountIndex,
        payload.instructionAccountIndices,
        payload.instructionData,
      );
    });
  }
  return message.instructions.map((each) =>
    instruction(each.programAddressIndex, each.accountIndices, each.data),
  );
}

function instruction(
  programIndex: number,
  accounts: readonly number[] | undefined,
  data: ArrayLike<number> | undefined,
): CompiledInstruction {
  return { programIndex, accounts: accounts ?? [], data: Uint8Array.from(data ?? []), stackHeight: 1 };
}
