import { create } from "@bufbuild/protobuf";
import type { SolanaSignInInput } from "@solana/wallet-standard-features";
import { createSignInMessageText } from "@solana/wallet-standard-util";
import type { Wallet } from "@wallet-standard/base";
import {
  SignInRequestSchema,
  type SignInChallenge,
  type SignInRequest,
} from "#gen/toolgate/console/v1/session_service_pb.ts";
import { connect, hasFeature, CHAIN, WalletError } from "./connect.ts";

type Proof = Pick<SignInRequest, "nonce" | "address" | "proof">;

/** Signs in by Sign In With Solana or a plain message. @throws WalletError `unable`: by transaction */
export async function signInWithMessage(wallet: Wallet, challenge: SignInChallenge): Promise<Proof> {
  const input = signInInput(challenge);
  try {
    if (hasFeature(wallet, "solana:signIn")) {
      const [output] = await wallet.features["solana:signIn"].signIn(input);
      if (!output) throw new WalletError("failed", `${wallet.name} returned no signature`);
      return messageProof(challenge, output.account.address, output);
    }
    if (!hasFeature(wallet, "solana:signMessage"))
      throw new WalletError("unable", `${wallet.name} cannot sign messages`);
    const { account } = await connect(wallet);
    const text = createSignInMessageText({ ...input, domain: challenge.domain, address: account.address });
    const [output] = await wallet.features["solana:signMessage"].signMessage({
      account,
      message: new TextEncoder().encode(text),
    });
    if (!output) throw new WalletError("failed", `${wallet.name} returned no signature`);
    return messageProof(challenge, account.address, output);
  } catch (error) {
    throw WalletError.of(error, wallet.name);
  }
}

/** Signs a challenge as the memo of a transaction that is never submitted (Ledger). @throws WalletError */
export async function signInWithTransaction(
  wallet: Wallet,
  challenge: SignInChallenge,
  build: (address: string) => Promise<Uint8Array>,
): Promise<Proof> {
  if (!hasFeature(wallet, "solana:signTransaction"))
    throw new WalletError(
      "unable",
      `${wallet.name} can sign neither messages nor transactions for this page: choose another wallet`,
    );
  const { account } = await connect(wallet);
  const transaction = await build(account.address);
  try {
    const [output] = await wallet.features["solana:signTransaction"].signTransaction({
      account,
      transaction,
      chain: CHAIN,
    });
    if (!output) throw new WalletError("failed", `${wallet.name} returned no signature`);
    const proof = { case: "transaction", value: new Uint8Array(output.signedTransaction) } as const;
    return create(SignInRequestSchema, { nonce: challenge.nonce, address: account.address, proof });
  } catch (error) {
    throw WalletError.of(error, wallet.name);
  }
}

function signInInput(challenge: SignInChallenge): SolanaSignInInput {
  const { domain, statement, uri, version, chainId, nonce, issuedAt, expirationTime } = challenge;
  return { domain, statement, uri, version, chainId, nonce, issuedAt, expirationTime };
}

function messageProof(
  { nonce }: SignInChallenge,
  address: string,
  { signedMessage, signature }: { signedMessage: Uint8Array; signature: Uint8Array },
): Proof {
  const value = { signedMessage: new Uint8Array(signedMessage), signature: new Uint8Array(signature) };
  return create(SignInRequestSchema, { nonce, address, proof: { case: "message", value } });
}
