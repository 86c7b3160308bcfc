import { VERSION } from "../../version.ts";

/** Server information (MCP, Implementation). */
export const SERVER_INFO = { name: "toolgate", version: VERSION };

/** No listChanged: change notifications would need open streams. */
export const CAPABILITIES = { tools: {} };

/** Instructions for the model, in every era. */
export const INSTRUCTIONS =
  "Billable tools are charged in USDC from the account's balance. A call that it does not cover returns a " +
  "quote, as HTTP 402 or as a result with isError. Pay the quote once on Solana by its payment_instructions " +
  'and repeat the same call with the proof in the X-Payment header or in _meta["toolgate/payment_proof"].';

/** Cache lifetime of lists and server information, ms; private because each key sees its own tools. */
export const CACHING = { ttlMs: 60_000, cacheScope: "private" };
