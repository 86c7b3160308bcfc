import { VERSION } from "../../version.ts";

/** What this server says of itself (MCP, Implementation). */
export const SERVER_INFO = { name: "toolgate", version: VERSION };

/** Tools, and a list that is asked for again rather than announced: that would need streams that stay open. */
export const CAPABILITIES = { tools: {} };

/** For the model, of every era. */
export const INSTRUCTIONS =
  "Billable tools are charged in USDC. A call that the balance does not cover answers HTTP 402 with a quote: pay it on Solana and repeat the same call with the X-Payment header.";

/** How long a caller may keep a list or what the server says of itself, ms; what a key may call is its own matter. */
export const CACHING = { ttlMs: 60_000, cacheScope: "private" };
