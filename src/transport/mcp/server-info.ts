import { VERSION } from "../../version.ts";

/** What this server says of itself (MCP, Implementation). */
export const SERVER_INFO = { name: "toolgate", version: VERSION };

/** Tools, and a list that is asked for again rather than announced: that would need streams that stay open. */
export const CAPABILITIES = { tools: {} };

/** For the model, of every era. */
export const INSTRUCTIONS =
  'Billable tools are charged in USDC, from the account\'s balance. A call that it does not cover is answered with a quote, as HTTP 402 or as a result with isError: pay the quote on Solana as its payment_instructions say, once, and repeat the same call with the proof, in the X-Payment header or in _meta["toolgate/payment_proof"].';

/** How long a caller may keep a list or what the server says of itself, ms; what a key may call is its own matter. */
export const CACHING = { ttlMs: 60_000, cacheScope: "private" };
