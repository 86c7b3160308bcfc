import { createServer } from "node:http";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { solana } from "@solana/mpp/server";
import { Connection, type Keypair } from "@solana/web3.js";
import { Mppx, Request as MppRequest } from "mppx/server";
import { closeServer, listen } from "../support/servers.ts";
import type { World } from "../support/world.ts";

const MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";

/** The official server of the scheme `Payment`, which sells one call and is paid into a wallet of its own. */
export interface MppServer {
  readonly url: string;
  /** Requests that it was sent: the Authorization header of each. */
  readonly heard: (string | null)[];
  /** Micro-USD that it has received. */
  received(): Promise<bigint>;
  close(): Promise<void>;
}

/** @param sponsor pays the chain's fees; undefined: clients send their transactions */
export async function startMppServer(
  { chain }: World,
  sponsor: Keypair | undefined,
  amount: bigint,
  externalId?: string,
): Promise<MppServer> {
  const recipient = chain.controls.createWallet({ microUsd: 0n });
  const signer = sponsor && (await createKeyPairSignerFromBytes(sponsor.secretKey));
  const charge = solana.charge({
    recipient: recipient.publicKey.toBase58(),
    currency: MINT,
    decimals: 6,
    rpcUrl: chain.url,
    ...(signer && { signer }),
  });
  const mppx = Mppx.create({
    methods: [charge],
    secretKey: "a secret of a test, of 32 bytes or more",
    realm: "sold",
  });
  const terms = { amount: String(amount), currency: MINT, ...(externalId !== undefined && { externalId }) };
  const heard: (string | null)[] = [];
  const server = createServer(
    MppRequest.toNodeListener(async (request) => {
      heard.push(request.headers.get("authorization"));
      const result = await mppx.charge(terms)(request);
      if (result.status === 402) return result.challenge;
      return result.withReceipt(Response.json({ sold: await request.text() }));
    }),
  );
  const connection = new Connection(chain.url);
  const url = `http://127.0.0.1:${await listen(server)}/sold`;
  return {
    url,
    heard,
    async received() {
      const account = chain.controls.usdcAccount(recipient.publicKey);
      return BigInt((await connection.getTokenAccountBalance(account, "processed")).value.amount);
    },
    close: () => closeServer(server),
  };
}
