import type { Walk } from "../stage.ts";
import { CHAIN_WALKS } from "./chain.ts";
import { LEDGER_WALKS } from "./ledger.ts";
import { PROCESS_WALKS } from "./process.ts";
import { RELAY_WALKS } from "./relay.ts";
import { TOOL_WALKS } from "./tools.ts";
import { WEBHOOK_WALKS } from "./webhooks.ts";

/** Every fault that is caused. One after the other, on one gateway. */
export const WALKS: readonly Walk[] = [
  ...PROCESS_WALKS,
  ...CHAIN_WALKS,
  ...LEDGER_WALKS,
  ...RELAY_WALKS,
  ...TOOL_WALKS,
  ...WEBHOOK_WALKS,
];
