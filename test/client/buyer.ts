import { Keypair } from "@solana/web3.js";
import { keypairSigner, payingFetch, type PaymentStore } from "../../src/client/index.ts";
import { fileStore } from "../../src/client/node/index.ts";

/**
 * A program that buys one call and kills itself at the point KILL_AT. Its store is a folder for
 * resumePayments.
 */

/** Points between the decision to pay and the response. */
export const POINTS = ["before put", "after put", "after send", "after repeat"] as const;

/** The input of the program, as JSON in BUYER. */
export interface Buyer {
  readonly url: string;
  readonly apiKey: string;
  readonly secretKey: number[];
  readonly rpcUrl: string;
  readonly folder: string;
  readonly method: "transfer" | "gasless";
  readonly killAt: (typeof POINTS)[number];
}

/** The options that buyer and heir share. */
export function optionsOf({ secretKey, rpcUrl, folder, method }: Omit<Buyer, "killAt" | "url" | "apiKey">) {
  const signer = keypairSigner(Keypair.fromSecretKey(Uint8Array.from(secretKey)));
  return { signer, maxPrice: "0.01", budget: "0.002", method, rpcUrl, store: fileStore(folder) };
}

export function callOf(apiKey: string): RequestInit {
  return {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ tool: "vram_estimate", params: { parameters_b: 7 } }),
  };
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal is on its way: nothing more may happen here.
  for (;;);
}

/** Dies as a payment is written, or right after. */
function deadly(store: PaymentStore, killAt: Buyer["killAt"]): PaymentStore {
  return {
    ...store,
    async put(key, value, version) {
      const adds = key.startsWith("payment/") && version === undefined;
      if (adds && killAt === "before put") die();
      const written = await store.put(key, value, version);
      if (adds && killAt === "after put") die();
      return written;
    },
  };
}

/**
 * Dies when the transfer was sent, or when the gateway has answered the paid call and the caller has not
 * heard of it.
 */
function deadlyFetch({ rpcUrl, killAt }: Buyer): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body } = init ?? {};
    const isSend = input === rpcUrl && typeof body === "string" && body.includes('"sendTransaction"');
    if (isSend && killAt === "after send") die();
    const isPaid = new Headers(init?.headers).has("x-payment");
    if (isPaid && response.ok && killAt === "after repeat") die();
    return response;
  };
}

const reported = process.env["BUYER"];
if (reported !== undefined) {
  const buyer: Buyer = JSON.parse(reported);
  const options = optionsOf(buyer);
  const fetch = payingFetch({
    ...options,
    store: deadly(options.store, buyer.killAt),
    fetch: deadlyFetch(buyer),
  });
  const response = await fetch(`${buyer.url}/v1/mcp/tools/call`, callOf(buyer.apiKey));
  console.log(await response.text());
}
