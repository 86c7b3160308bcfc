import { createKeyPairSignerFromBytes } from "@solana/kit";
import { solana } from "@solana/mpp/client";
import { Connection, type Keypair } from "@solana/web3.js";
import { Challenge } from "mppx";
import { Fetch } from "mppx/client";
import type { Agent, World } from "../support/world.ts";

/** The official client of the scheme `Payment`, with USDC and no SOL unless it sends transactions itself. */
export interface MppPayer {
  readonly wallet: Keypair;
  readonly methods: readonly [ReturnType<typeof solana.charge>];
  /** The agents' replacement of `fetch`. */
  readonly fetch: typeof fetch;
  /** Its Authorization for a 402's WWW-Authenticate. */
  credential(wwwAuthenticate: string): Promise<string>;
  /** Micro-USD that the key holds. */
  usdc(): Promise<bigint>;
  lamports(): Promise<number>;
}

/** @param broadcast whether it sends its transactions itself, and so needs SOL */
export async function mppPayer(world: World, broadcast = false, microUsd = 1_000_000n): Promise<MppPayer> {
  const lamports = broadcast ? 100_000_000n : 0n;
  const wallet = world.chain.controls.createWallet({ lamports, microUsd });
  const signer = await createKeyPairSignerFromBytes(wallet.secretKey);
  const charge = solana.charge({ signer, rpcUrl: world.chain.url, broadcast });
  const connection = new Connection(world.chain.url);
  return {
    wallet,
    methods: [charge],
    fetch: Fetch.from({ methods: [charge], fetch }) as typeof fetch,
    credential: (wwwAuthenticate) =>
      charge.createCredential({ challenge: Challenge.deserialize(wwwAuthenticate) as never }),
    async usdc() {
      const account = world.chain.controls.usdcAccount(wallet.publicKey);
      return BigInt((await connection.getTokenAccountBalance(account, "processed")).value.amount);
    },
    lamports: () => connection.getBalance(wallet.publicKey, "processed"),
  };
}

/** Sends the key where the Authorization header is left to the payment. */
export function withApiKey(agent: Agent, inner: typeof fetch): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("X-API-Key", agent.apiKey);
    return inner(input, { ...init, headers });
  };
}
