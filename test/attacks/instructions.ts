import {
  createAssociatedTokenAccountIdempotentInstruction,
  createInitializeMint2Instruction,
  createMintToInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
  MINT_SIZE,
  TOKEN_PROGRAM_ID,
} from "@solana/spl-token";
import { Keypair, PublicKey, SystemProgram, TransactionInstruction, type Signer } from "@solana/web3.js";
import { USDC_DECIMALS, USDC_MINT } from "../../src/localchain/index.ts";
import { rpc } from "../localchain/paying.ts";
import type { Agent, Ground } from "../support/world.ts";

export const MINT = new PublicKey(USDC_MINT);
export const MEMO_V1 = new PublicKey("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
const MEMO_V2 = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

export function memo(content: string | Uint8Array, programId = MEMO_V2): TransactionInstruction {
  return new TransactionInstruction({ programId, keys: [], data: Buffer.from(content) });
}

export function payTo({ chain, treasury }: Ground): PublicKey {
  return chain.controls.usdcAccount(treasury.publicKey);
}

/** A transfer of micro-USD from the agent's USDC account, by default to the treasury. */
export function transfer(
  ground: Ground,
  agent: Agent,
  amount: bigint,
  to = payTo(ground),
  authority: Signer = agent.wallet,
): TransactionInstruction {
  const from = ground.chain.controls.usdcAccount(agent.wallet.publicKey);
  return createTransferCheckedInstruction(from, MINT, to, authority.publicKey, amount, USDC_DECIMALS);
}

export function transferOut(ground: Ground, amount: bigint, to: PublicKey): TransactionInstruction {
  return createTransferCheckedInstruction(
    payTo(ground),
    MINT,
    to,
    ground.treasury.publicKey,
    amount,
    USDC_DECIMALS,
  );
}

/** SPL Token instruction 255: several instructions in one, without inner instructions and logs. */
export function batch(...instructions: TransactionInstruction[]): TransactionInstruction {
  const parts = instructions.map(({ keys, data }) =>
    Buffer.concat([Buffer.of(keys.length, data.length), data]),
  );
  return new TransactionInstruction({
    programId: TOKEN_PROGRAM_ID,
    keys: instructions.flatMap(({ keys }) => keys),
    data: Buffer.concat([Buffer.of(255), ...parts]),
  });
}

/** A token other than USDC, and payments with it. */
export interface OtherToken {
  /** Creates the token, mints it to the agent and opens the treasury's account for it. */
  setUp: TransactionInstruction[];
  mint: Keypair;
  transfer: TransactionInstruction;
}

/** A token of the agent's own making: six decimals, paid to the same treasury owner. */
export function otherToken(
  { chain, treasury }: Ground,
  agent: Agent,
  amount: bigint,
  program: PublicKey,
): OtherToken {
  const mint = Keypair.generate();
  const payer = agent.wallet.publicKey;
  const account = (owner: PublicKey) => getAssociatedTokenAddressSync(mint.publicKey, owner, true, program);
  const [source, destination] = [account(payer), account(treasury.publicKey)];
  const lamports = Number(chain.chain.svm.minimumBalanceForRentExemption(BigInt(MINT_SIZE)));
  return {
    mint,
    setUp: [
      SystemProgram.createAccount({
        fromPubkey: payer,
        newAccountPubkey: mint.publicKey,
        lamports,
        space: MINT_SIZE,
        programId: program,
      }),
      createInitializeMint2Instruction(mint.publicKey, USDC_DECIMALS, payer, null, program),
      createAssociatedTokenAccountIdempotentInstruction(payer, source, payer, mint.publicKey, program),
      createAssociatedTokenAccountIdempotentInstruction(
        payer,
        destination,
        treasury.publicKey,
        mint.publicKey,
        program,
      ),
      createMintToInstruction(mint.publicKey, source, payer, amount, [], program),
    ],
    transfer: createTransferCheckedInstruction(
      source,
      mint.publicKey,
      destination,
      payer,
      amount,
      USDC_DECIMALS,
      [],
      program,
    ),
  };
}

interface ChainAnswer {
  transaction: {
    message: { accountKeys: string[]; instructions: { programIdIndex: number; data: string }[] };
  };
  meta: { innerInstructions: unknown[] };
}

/** Makes the endpoint report the transaction, changed, to the next query for any. */
export async function reportOnce(
  { chain }: Ground,
  tx: string,
  change: (reported: ChainAnswer) => void = () => {},
): Promise<void> {
  const result = (await rpc(chain, "getTransaction", tx, {
    encoding: "json",
    commitment: "confirmed",
    maxSupportedTransactionVersion: 1,
  })) as ChainAnswer;
  change(result);
  chain.faults.add({
    method: "getTransaction",
    fault: { kind: "result", result: result as never },
    calls: 1,
  });
}
